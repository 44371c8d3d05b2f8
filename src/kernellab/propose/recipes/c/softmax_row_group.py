"""Row softmax of several rows in lockstep.

Hypothesis: for short rows the latency of one row's chain, its loop ends and its reduction leave the pipelines idle;
vectors of independent rows fill them without a longer unrolled tail. Refuted if one row at a time, unrolled as far, is
as fast at a row length of 512.
"""

TASKS = ("softmax",)
FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
SPACE = {
    "ROWS": [1, 2, 3, 4, 8],
    "UNROLL": [1, 2, 4],
    "POLYNOMIAL": ["horner", "estrin"],
    "NORMALISE": ["multiply", "divide"],
    "SCHEDULE": ["source", "compiler"],
}

SOURCE = r"""
#if defined(SCHEDULE_source) && !defined(__clang__)
#pragma GCC optimize("no-schedule-insns")
#endif
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
#define GROUP (ROWS * UNROLL)
#define CHUNK (64 * LANES * UNROLL) /* sums of sums keep the rounding error of a long row small */

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

static float row_max(const float *x, long n) {
    vf a[4];
    long j = 0;
    EACH(4) a[u] = splat(x[0]);
    for (; j + 4 * LANES <= n; j += 4 * LANES) EACH(4) a[u] = vmax(a[u], load(x + j + u * LANES));
    float m = lanes_max(vmax(vmax(a[0], a[1]), vmax(a[2], a[3])));
    for (; j < n; j++) m = x[j] > m ? x[j] : m;
    return m;
}

/* Rows i to i + live - 1; where live < ROWS the last row is computed again and not stored */
static inline __attribute__((always_inline)) void rows(const float *x, float *y, long n, const long live) {
    const Constants c = {splat(ROUND), splat(C0), splat(C1), splat(C2), splat(C3)};
    const vf low = splat(-DEEPEST), vround = splat(ROUND);
    const float *in[ROWS];
    float *out[ROWS];
    vf shift[ROWS], total[ROWS], acc[ROWS], e[GROUP];
    long j = 0;
    for (int r = 0; r < ROWS; r++) {
        long at = r < live ? r : live - 1;
        in[r] = x + at * n;
        out[r] = y + at * n;
        shift[r] = splat(row_max(in[r], n));
        total[r] = acc[r] = splat(0);
    }
    while (j + LANES * UNROLL <= n) {
        long end = n - j < CHUNK ? n : j + CHUNK;
        for (; j + LANES * UNROLL <= end; j += LANES * UNROLL) {
            EACH(GROUP) e[u] = vmax(load(in[u / UNROLL] + j + u % UNROLL * LANES) - shift[u / UNROLL], low);
            exp_scaled(e, vround, &c);
            EACH(GROUP) {
                if (u / UNROLL < live) store(out[u / UNROLL] + j + u % UNROLL * LANES, e[u]);
                acc[u / UNROLL] += e[u];
            }
        }
        EACH(ROWS) { total[u] += acc[u]; acc[u] = splat(0); }
    }
    if (j < n) {
        float part[LANES * GROUP];
        for (int k = 0; k < LANES * GROUP; k++) {
            long at = j + k % (LANES * UNROLL);
            part[k] = in[k / (LANES * UNROLL)][at < n ? at : j];
        }
        EACH(GROUP) e[u] = vmax(load(part + u * LANES) - shift[u / UNROLL], low);
        exp_scaled(e, vround, &c);
        EACH(GROUP) store(part + u * LANES, e[u]);
        for (int k = 0; k < LANES * GROUP; k++) {
            long at = j + k % (LANES * UNROLL);
            if (at < n) out[k / (LANES * UNROLL)][at] = part[k]; else part[k] = 0;
        }
        EACH(GROUP) acc[u / UNROLL] += load(part + u * LANES);
    }
    for (int r = 0; r < live; r++) {
        float sum = lanes_sum(total[r] + acc[r]), inverse = 1.0f / sum;
        float *o = out[r];
        for (long k = 0; k < n; k++)
#ifdef NORMALISE_divide
            o[k] /= sum;
#else
            o[k] *= inverse;
#endif
        (void)inverse;
    }
}

void softmax_rows(const float *restrict x, float *restrict y, long m, long n) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i = 0; i < m; i += ROWS) {
        if (i + ROWS <= m) rows(x + i * n, y + i * n, n, ROWS);
        else rows(x + i * n, y + i * n, n, m - i);
    }
}
"""


def launch(x, y, ROWS=2, UNROLL=4, POLYNOMIAL="horner", NORMALISE="multiply", SCHEDULE="source"):
    if ROWS * UNROLL > 8:
        raise ValueError("more than eight vectors in flight do not fit the registers")
    m, n = x.shape
    kernel("softmax_rows")(x, y, m, n)
