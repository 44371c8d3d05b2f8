"""Row softmax in blocks: each block's exponentials relative to its own maximum, one rescaling at the end.

Hypothesis: a block stays in the first-level cache between its maximum and its exponentials, so a row is read from
far memory once, however long it is, at one exp() an element. Refuted if whole-row passes are as fast at every length.
"""

TASKS = ("softmax",)
FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
SPACE = {
    "BLOCK": [128, 256, 512, 1024, 2048, 4096],
    "UNROLL": [2, 4, 5, 8],
    "POLYNOMIAL": ["horner", "estrin"],
    "SCHEDULE": ["source", "compiler"],
}

SOURCE = r"""
#if defined(SCHEDULE_source) && !defined(__clang__)
#pragma GCC optimize("no-schedule-insns")
#endif
#include <float.h>
#include <math.h>

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

static float block_max(const float *x, long n) {
    vf a[4];
    long j = 0;
    float m = -FLT_MAX; /* a block of -inf only: every exponent is then clamped */
    EACH(4) a[u] = splat(m);
    for (; j + 4 * LANES <= n; j += 4 * LANES) EACH(4) a[u] = vmax(a[u], load(x + j + u * LANES));
    m = lanes_max(vmax(vmax(a[0], a[1]), vmax(a[2], a[3])));
    for (; j < n; j++) m = x[j] > m ? x[j] : m;
    return m;
}

static float block_exp(const float *x, float *y, long n, float shift) {
    const Constants c = {splat(ROUND), splat(C0), splat(C1), splat(C2), splat(C3)};
    const vf low = splat(-DEEPEST), vshift = splat(shift), vround = splat(ROUND);
    vf total = splat(0), acc[UNROLL], e[UNROLL];
    long j = 0;
    EACH(UNROLL) acc[u] = splat(0);
    while (j + LANES * UNROLL <= n) {
        long end = n - j < CHUNK ? n : j + CHUNK;
        for (; j + LANES * UNROLL <= end; j += LANES * UNROLL) {
            EACH(UNROLL) e[u] = vmax(load(x + j + u * LANES) - vshift, low);
            exp_scaled(e, vround, &c);
            EACH(UNROLL) { store(y + j + u * LANES, e[u]); acc[u] += e[u]; }
        }
        EACH(UNROLL) { total += acc[u]; acc[u] = splat(0); }
    }
    if (j < n) {
        float part[LANES * UNROLL];
        for (int k = 0; k < LANES * UNROLL; k++) part[k] = x[j + k < n ? j + k : j];
        EACH(UNROLL) e[u] = vmax(load(part + u * LANES) - vshift, low);
        exp_scaled(e, vround, &c);
        EACH(UNROLL) store(part + u * LANES, e[u]);
        /* not one loop with a condition: gcc 12 makes a masked store of it that faults behind the end (vextractf32x8) */
        for (long k = 0; k < n - j; k++) y[j + k] = part[k];
        for (long k = n - j; k < LANES * UNROLL; k++) part[k] = 0;
        EACH(UNROLL) acc[u] += load(part + u * LANES);
    }
    EACH(UNROLL) total += acc[u];
    return lanes_sum(total);
}

void softmax_rows(const float *restrict x, float *restrict y, float *restrict shifts, long m, long n, long blocks) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i = 0; i < m; i++) {
        const float *row = x + i * n;
        float *out = y + i * n, *shift = shifts + i * blocks, high = -FLT_MAX, sum = 0;
        for (long b = 0; b < blocks; b++) {
            long first = b * BLOCK, count = n - first < BLOCK ? n - first : BLOCK;
            float s = block_max(row + first, count), part = block_exp(row + first, out + first, count, s);
            if (s > high) { sum = sum * expf(high - s) + part; high = s; }
            else sum += part * expf(s - high);
            shift[b] = s;
        }
        for (long b = 0; b < blocks; b++) {
            long first = b * BLOCK, count = n - first < BLOCK ? n - first : BLOCK;
            float factor = expf(shift[b] - high) / sum, *o = out + first;
            for (long j = 0; j < count; j++) o[j] *= factor;
        }
    }
}
"""


def launch(x, y, BLOCK=1024, UNROLL=4, POLYNOMIAL="horner", SCHEDULE="source"):
    m, n = x.shape
    if BLOCK < 32 * UNROLL:
        raise ValueError("a block of so few groups of vectors is mostly loop ends")
    blocks = -(-n // BLOCK)
    kernel("softmax_rows")(x, y, scratch((m, blocks)), m, n, blocks)
