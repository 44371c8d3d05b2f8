"""Particle weights in two passes: blockwise maximum and sums without any store, then exp() again for the final weights.

Hypothesis: writing each weight once, already normalised, saves the traffic of storing and rescaling exponentials.
Refuted where exp(), evaluated twice here, bounds the time rather than memory.
"""

TASKS = ("particle_filter",)
FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
SPACE = {
    "BLOCK": [512, 2048, 8192, 32768],
    "UNROLL": [2, 4, 5, 8],
    "POLYNOMIAL": ["horner", "estrin"],
    "SKIP": ["no", "yes"],
}

SOURCE = r"""
#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define LANES 16
#elif defined(__AVX__)
#include <immintrin.h>
#define LANES 8
#else
#define LANES 4
#endif
typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int vi __attribute__((vector_size(4 * LANES)));
typedef float vfu __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
static inline vf load(const float *p) { return *(const vfu *)p; }
static inline void store(float *p, vf v) { *(vfu *)p = v; }
static inline vf splat(float s) { return (vf){0} + s; }
#if defined(__AVX512F__)
static inline vf vmax(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
#elif defined(__AVX__)
static inline vf vmax(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
#elif defined(__ARM_NEON)
#include <arm_neon.h>
static inline vf vmax(vf a, vf b) { return (vf)vmaxq_f32((float32x4_t)a, (float32x4_t)b); }
#else
static inline vf vmax(vf a, vf b) { vi k = a > b; return (vf)((k & (vi)a) | (~k & (vi)b)); }
#endif
static inline float lanes_sum(vf v) { float s = 0; for (int k = 0; k < LANES; k++) s += v[k]; return s; }
static inline float lanes_max(vf v) { float m = v[0]; for (int k = 1; k < LANES; k++) m = v[k] > m ? v[k] : m; return m; }

/* exp(r) / C5 on |r| <= ln2/2, relative error 8e-8; C5 cancels in the normalisation */
#define C0 0x1.e21292p+6f
#define C1 0x1.e21286p+6f
#define C2 0x1.e20fd0p+5f
#define C3 0x1.41663ap+4f
#define C4 0x1.434ed8p+2f
#define LOG2E 1.44269504f
#define LN2 0.693147182f
#define LN2_HI 0.693359375f
#define LN2_LO -2.12194440e-4f
#define ROUND 0x1.8p+23f /* adding this rounds to an integer, kept in the low bits */
#define DEEPEST 91.0f    /* exp(-91) / C5 is still a normal number */

typedef struct { vf round, c0, c1, c2, c3; } Constants;
#define GET(name) (*(const volatile vf *)&c->name) /* a load, where a two-address multiply-add would need a move */
#define GROUP UNROLL
#define CHUNK (64 * LANES * UNROLL) /* sums of sums keep the rounding error small */

/* v[u] = exp(v[u]) * 2^-k / C5 where c->round is ROUND - k; step by step over the vectors, to hide latencies */
#define EACH(COUNT) _Pragma("GCC unroll 16") for (int u = 0; u < (COUNT); u++)
static inline __attribute__((always_inline)) void exp_scaled(vf *v, vf round, const Constants *c) {
    vf t[GROUP], n[GROUP], p[GROUP];
    EACH(GROUP) t[u] = GET(round) + v[u] * LOG2E;
    EACH(GROUP) n[u] = t[u] - round;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    EACH(GROUP) v[u] = v[u] - n[u] * LN2; /* LN2 is good to 2e-9: one fused step will do */
#else
    EACH(GROUP) v[u] = (v[u] - n[u] * LN2_HI) - n[u] * LN2_LO;
#endif
#ifdef POLYNOMIAL_horner
    EACH(GROUP) p[u] = v[u] + C4;
    EACH(GROUP) p[u] = GET(c3) + p[u] * v[u];
    EACH(GROUP) p[u] = GET(c2) + p[u] * v[u];
    EACH(GROUP) p[u] = GET(c1) + p[u] * v[u];
    EACH(GROUP) p[u] = GET(c0) + p[u] * v[u];
#else
    EACH(GROUP) n[u] = GET(c2) + v[u] * C3;
    EACH(GROUP) p[u] = GET(c0) + v[u] * C1;
    vf w[GROUP];
    EACH(GROUP) w[u] = v[u] * v[u];
    EACH(GROUP) n[u] = n[u] + (v[u] + C4) * w[u];
    EACH(GROUP) p[u] = p[u] + n[u] * w[u];
#endif
    EACH(GROUP) v[u] = (vf)((vi)p[u] + ((vi)t[u] << 23));
}

static inline vf log_weight(const float *x, const float *lw, vf z) { vf d = z - load(x); return load(lw) - d * 0.5f * d; }
static inline float log_weight1(float x, float lw, float z) { float d = z - x; return lw - d * 0.5f * d; }

/* The largest log-weight of a block; the log-weights go to keep, where there is one */
static float block_top(const float *x, const float *lw, float *keep, long n, float z) {
    vf a[4], vz = splat(z);
    long j = 0;
    float top = -FLT_MAX;
    EACH(4) a[u] = splat(top);
    for (; j + 4 * LANES <= n; j += 4 * LANES)
        EACH(4) {
            vf l = log_weight(x + j + u * LANES, lw + j + u * LANES, vz);
            if (keep) store(keep + j + u * LANES, l);
            a[u] = vmax(a[u], l);
        }
    top = lanes_max(vmax(vmax(a[0], a[1]), vmax(a[2], a[3])));
    for (; j < n; j++) {
        float l = log_weight1(x[j], lw[j], z);
        if (keep) keep[j] = l;
        top = l > top ? l : top;
    }
    return top;
}

/* With w: exp(log-weight - top) * scale into w. Without: the sums of the exponentials and of their squares */
static inline __attribute__((always_inline)) void block_exp(const float *x, const float *lw, float *w, long n, float z,
                                                            float top, float scale, float *sum, float *square) {
    const Constants c = {splat(ROUND), splat(C0), splat(C1), splat(C2), splat(C3)};
    const vf low = splat(-DEEPEST), vtop = splat(top), vround = splat(ROUND), vz = splat(z);
    vf sums = splat(0), squares = splat(0), s[UNROLL], q[UNROLL], e[UNROLL];
    long j = 0;
    EACH(UNROLL) s[u] = q[u] = splat(0);
    while (j + LANES * UNROLL <= n) {
        long end = n - j < CHUNK ? n : j + CHUNK;
        for (; j + LANES * UNROLL <= end; j += LANES * UNROLL) {
            EACH(UNROLL) e[u] = vmax(log_weight(x + j + u * LANES, lw + j + u * LANES, vz) - vtop, low);
            exp_scaled(e, vround, &c);
            if (w) EACH(UNROLL) store(w + j + u * LANES, e[u] * scale);
            else EACH(UNROLL) { s[u] += e[u]; q[u] += e[u] * e[u]; }
        }
        EACH(UNROLL) { sums += s[u]; squares += q[u]; s[u] = q[u] = splat(0); }
    }
    if (j < n) {
        float part[LANES * UNROLL];
        for (int k = 0; k < LANES * UNROLL; k++) { long at = j + k < n ? j + k : j; part[k] = log_weight1(x[at], lw[at], z); }
        EACH(UNROLL) e[u] = vmax(load(part + u * LANES) - vtop, low);
        exp_scaled(e, vround, &c);
        EACH(UNROLL) store(part + u * LANES, e[u]);
        for (long k = 0; w && k < n - j; k++) w[j + k] = part[k] * scale;
        for (long k = n - j; k < LANES * UNROLL; k++) part[k] = 0;
        EACH(UNROLL) { vf v = load(part + u * LANES); s[u] += v; q[u] += v * v; }
    }
    EACH(UNROLL) { sums += s[u]; squares += q[u]; }
    if (sum) *sum = lanes_sum(sums);
    if (square) *square = lanes_sum(squares);
}

void particle_weights(const float *restrict x, const float *restrict lw, const float *restrict z, float *restrict w,
                      float *restrict ess, float *restrict top, float *restrict sum, float *restrict square, long n, long blocks) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long b = 0; b < blocks; b++) {
        long at = b * BLOCK, count = n - at < BLOCK ? n - at : BLOCK;
        top[b] = block_top(x + at, lw + at, 0, count, z[0]);
        block_exp(x + at, lw + at, 0, count, z[0], top[b], 0, sum + b, square + b);
    }
    float high = top[0];
    double total = 0, squares = 0;
    for (long b = 1; b < blocks; b++) high = top[b] > high ? top[b] : high;
    for (long b = 0; b < blocks; b++) {
        double factor = exp((double)top[b] - high);
        total += factor * sum[b];
        squares += factor * factor * square[b];
    }
    ess[0] = (float)(total * total / squares);
    float scale = (float)(1 / total);
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long b = 0; b < blocks; b++) {
        long at = b * BLOCK, count = n - at < BLOCK ? n - at : BLOCK;
#ifdef SKIP_yes
        if (top[b] < high - 110.0f) { memset(w + at, 0, count * sizeof(float)); continue; } /* all would be flushed */
#endif
        block_exp(x + at, lw + at, w + at, count, z[0], high, scale, 0, 0);
    }
}
"""


def launch(x, lw, z, w, ess, BLOCK=8192, UNROLL=4, POLYNOMIAL="horner", SKIP="no"):
    n = x.shape[0]
    if BLOCK < 128 * UNROLL:
        raise ValueError("a block of so few groups of vectors is mostly loop ends")
    blocks = -(-n // BLOCK)
    kernel("particle_weights")(x, lw, z, w, ess, scratch(blocks), scratch(blocks), scratch(blocks), n, blocks)
