"""Row softmax relative to a power of two near the row's maximum instead of the maximum itself.

Hypothesis: exp() bounds the time, so instructions per vector decide. exp(x) * 2^-k needs no subtraction (k is folded
into the rounding constant), a monic polynomial needs no leading coefficient (it cancels in the normalisation), and
constants read from memory spare the register moves that two-address multiply-adds cost. Refuted if memory bounds it.
"""

TASKS = ("softmax",)
FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
SPACE = {
    "UNROLL": [2, 3, 4, 5, 6, 7, 8],
    "CONSTANTS": ["memory", "registers"],
    "POLYNOMIAL": ["horner", "estrin"],
    "UNDERFLOW": ["clamp", "by_row"],
    "PREFETCH": [0, 1],
    "SCHEDULE": ["source", "compiler"],
}

SOURCE = r"""
#ifdef SCHEDULE_source
#pragma GCC optimize("no-schedule-insns")
#endif
#include <math.h>
#include <string.h>

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4
#endif
typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int vi __attribute__((vector_size(4 * LANES)));
typedef float vfu __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#if defined(__ARM_NEON)
#include <arm_neon.h>
static inline vf vmax(vf a, vf b) { return (vf)vmaxq_f32((float32x4_t)a, (float32x4_t)b); }
static inline vf vmin(vf a, vf b) { return (vf)vminq_f32((float32x4_t)a, (float32x4_t)b); }
#else
static inline vf vmax(vf a, vf b) { vi k = a > b; return (vf)((k & (vi)a) | (~k & (vi)b)); }
static inline vf vmin(vf a, vf b) { vi k = a < b; return (vf)((k & (vi)a) | (~k & (vi)b)); }
#endif
static inline vf load(const float *p) { return *(const vfu *)p; }
static inline void store(float *p, vf v) { *(vfu *)p = v; }
static inline vf splat(float s) { return (vf){0} + s; }

/* exp(r) / C5 on |r| <= ln2/2, relative error 8e-8 */
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

typedef struct { vf round, c0, c1, c2, c3; } Constants;
#ifdef CONSTANTS_memory
#define GET(name) (*(const volatile vf *)&c->name)
#else
#define GET(name) (c->name)
#endif

/* v[u] = exp(v[u]) * 2^-k / C5, where c->round is ROUND - k; step by step over the vectors, to hide latencies */
#define EACH _Pragma("GCC unroll 16") for (int u = 0; u < UNROLL; u++)
static inline __attribute__((always_inline)) void exp_scaled(vf *v, vf round, const Constants *c) {
    vf t[UNROLL], n[UNROLL], p[UNROLL];
    EACH t[u] = GET(round) + v[u] * LOG2E;
    EACH n[u] = t[u] - round;
#if defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    EACH v[u] = v[u] - n[u] * LN2; /* LN2 is good to 2e-9: one fused step will do */
#else
    EACH v[u] = (v[u] - n[u] * LN2_HI) - n[u] * LN2_LO;
#endif
#ifdef POLYNOMIAL_horner
    EACH p[u] = v[u] + C4;
    EACH p[u] = GET(c3) + p[u] * v[u];
    EACH p[u] = GET(c2) + p[u] * v[u];
    EACH p[u] = GET(c1) + p[u] * v[u];
    EACH p[u] = GET(c0) + p[u] * v[u];
#else
    EACH n[u] = GET(c2) + v[u] * C3;
    EACH p[u] = GET(c0) + v[u] * C1;
    vf w[UNROLL];
    EACH w[u] = v[u] * v[u];
    EACH n[u] = n[u] + (v[u] + C4) * w[u];
    EACH p[u] = p[u] + n[u] * w[u];
#endif
    EACH v[u] = (vf)((vi)p[u] + ((vi)t[u] << 23));
}

static inline float lanes_sum(vf v) { float s = 0; for (int k = 0; k < LANES; k++) s += v[k]; return s; }

/* One row; every element is x' = max(x - shift, low), or just x where SAFE is 0 */
#define ROW(NAME, PREPARE)                                                                         \
static float NAME(const float *x, float *y, long n, float shift, float low, float round, const float *next) { \
    Constants c = {splat(round), splat(C0), splat(C1), splat(C2), splat(C3)};                      \
    vf acc[UNROLL], vround = splat(round);                                                         \
    (void)shift; (void)low; (void)next;                                                            \
    for (int u = 0; u < UNROLL; u++) acc[u] = splat(0);                                            \
    long j = 0;                                                                                    \
    for (; j + LANES * UNROLL <= n; j += LANES * UNROLL) {                                         \
        if (PREFETCH) for (int u = 0; u < UNROLL; u += 16 / LANES) __builtin_prefetch(next + j + u * LANES); \
        vf e[UNROLL];                                                                              \
        EACH { vf v = load(x + j + u * LANES); e[u] = PREPARE; }                                   \
        exp_scaled(e, vround, &c);                                                                 \
        EACH { store(y + j + u * LANES, e[u]); acc[u] += e[u]; }                                   \
    }                                                                                              \
    if (j < n) {                                                                                   \
        float part[LANES * UNROLL];                                                                \
        vf e[UNROLL];                                                                              \
        for (int k = 0; k < LANES * UNROLL; k++) part[k] = x[j + k < n ? j + k : j];               \
        EACH { vf v = load(part + u * LANES); e[u] = PREPARE; }                                    \
        exp_scaled(e, vround, &c);                                                                 \
        EACH store(part + u * LANES, e[u]);                                                        \
        for (int k = 0; k < LANES * UNROLL; k++) if (j + k >= n) part[k] = 0; else y[j + k] = part[k]; \
        EACH acc[u] += load(part + u * LANES);                                                     \
    }                                                                                              \
    for (int u = 1; u < UNROLL; u++) acc[0] += acc[u];                                             \
    return lanes_sum(acc[0]);                                                                      \
}
ROW(row_plain, v)
ROW(row_clamped, vmax(v, splat(low)))
ROW(row_safe, vmax(v - splat(shift), splat(low)))

static void extent(const float *x, long n, float *low, float *high) {
    vf a[4], b[4];
    for (int u = 0; u < 4; u++) a[u] = b[u] = splat(x[0]);
    long j = 0;
    for (; j + 4 * LANES <= n; j += 4 * LANES)
        for (int u = 0; u < 4; u++) {
            vf v = load(x + j + u * LANES);
            a[u] = vmax(a[u], v);
#ifdef UNDERFLOW_by_row
            b[u] = vmin(b[u], v);
#endif
        }
    vf m = vmax(vmax(a[0], a[1]), vmax(a[2], a[3])), l = vmin(vmin(b[0], b[1]), vmin(b[2], b[3]));
    float hi = m[0], lo = l[0];
    for (int k = 1; k < LANES; k++) { hi = m[k] > hi ? m[k] : hi; lo = l[k] < lo ? l[k] : lo; }
    for (; j < n; j++) { hi = x[j] > hi ? x[j] : hi; lo = x[j] < lo ? x[j] : lo; }
    *high = hi;
    *low = lo;
}

#define DEEPEST 91.0f /* exp(-91) / C5 is still a normal number */

void softmax_rows(const float *restrict x, float *restrict y, long m, long n) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i = 0; i < m; i++) {
        const float *row = x + i * n, *next = i + 1 < m ? row + n : row;
        float *out = y + i * n, low, high, sum;
        extent(row, n, &low, &high);
        if (fabsf(high) > 1e5f) {
            sum = row_safe(row, out, n, high, -DEEPEST, ROUND, next);
        } else {
            float k = rintf(high * LOG2E);
#ifdef UNDERFLOW_by_row
            if (low >= high - DEEPEST + 1) sum = row_plain(row, out, n, 0, 0, ROUND - k, next);
            else
#endif
            sum = row_clamped(row, out, n, 0, high - DEEPEST, ROUND - k, next);
        }
        float inverse = 1.0f / sum;
        for (long j = 0; j < n; j++) out[j] *= inverse;
    }
}
"""


def launch(x, y, UNROLL=4, CONSTANTS="memory", POLYNOMIAL="horner", UNDERFLOW="clamp", PREFETCH=1, SCHEDULE="source"):
    m, n = x.shape
    kernel("softmax_rows")(x, y, m, n)
