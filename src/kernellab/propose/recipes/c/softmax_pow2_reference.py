"""Row softmax relative to a power of two near the row's maximum instead of the maximum itself.

Hypothesis: exp() bounds the time, so instructions per vector decide. exp(x) * 2^-k needs no subtraction (k is folded
into the rounding constant), a monic polynomial needs no leading coefficient (it cancels in the normalisation), and
constants read from memory spare the register moves that two-address multiply-adds cost. Refuted if memory bounds it;
then keeping a row's exponentials in the cache and streaming the result past it should save a third of the traffic.
"""

TASKS = ("softmax",)
FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
SPACE = {
    "UNROLL": [2, 4, 5, 6, 8],
    "CONSTANTS": ["memory", "registers"],
    "POLYNOMIAL": ["horner", "estrin"],
    "UNDERFLOW": ["by_row", "clamp"],
    "PREFETCH": [0, 1],
    "SCHEDULE": ["source", "compiler"],
    "STORES": ["through", "streamed"],
}

SOURCE = r"""
#if defined(SCHEDULE_source) && !defined(__clang__)
#pragma GCC optimize("no-schedule-insns")
#endif
#include <math.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define LANES 16
#elif defined(__AVX__)
#include <immintrin.h>
#define LANES 8
#else
#ifdef __SSE__
#include <immintrin.h>
#endif
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
static inline vf vmin(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
#elif defined(__AVX__)
static inline vf vmax(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
static inline vf vmin(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
#elif defined(__ARM_NEON)
#include <arm_neon.h>
static inline vf vmax(vf a, vf b) { return (vf)vmaxq_f32((float32x4_t)a, (float32x4_t)b); }
static inline vf vmin(vf a, vf b) { return (vf)vminq_f32((float32x4_t)a, (float32x4_t)b); }
#else
static inline vf vmax(vf a, vf b) { vi k = a > b; return (vf)((k & (vi)a) | (~k & (vi)b)); }
static inline vf vmin(vf a, vf b) { vi k = a < b; return (vf)((k & (vi)a) | (~k & (vi)b)); }
#endif
static inline float lanes_sum(vf v) { float s = 0; for (int k = 0; k < LANES; k++) s += v[k]; return s; }

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
#ifdef CONSTANTS_memory
#define GET(name) (*(const volatile vf *)&c->name) /* a load, where a two-address multiply-add would need a move */
#else
#define GET(name) (c->name)
#endif
#define GROUP UNROLL

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

#define CHUNK (64 * LANES * UNROLL) /* sums of sums keep the rounding error of a long row small */

/* One row's exponentials and their sum; PREPARE makes the argument of exp from the vector v */
#define ROW(NAME, PREPARE)                                                                                       \
static float NAME(const float *x, float *y, long n, float shift, float low, float round, const float *next) {    \
    const Constants c = {splat(round), splat(C0), splat(C1), splat(C2), splat(C3)};                              \
    const vf vround = splat(round);                                                                              \
    vf total = splat(0), acc[UNROLL], e[UNROLL];                                                                 \
    long j = 0;                                                                                                  \
    (void)shift; (void)low; (void)next;                                                                          \
    EACH(UNROLL) acc[u] = splat(0);                                                                              \
    while (j + LANES * UNROLL <= n) {                                                                            \
        long end = n - j < CHUNK ? n : j + CHUNK;                                                                \
        for (; j + LANES * UNROLL <= end; j += LANES * UNROLL) {                                                 \
            if (PREFETCH) for (int u = 0; u < UNROLL; u += 16 / LANES) __builtin_prefetch(next + j + u * LANES); \
            EACH(UNROLL) { vf v = load(x + j + u * LANES); e[u] = PREPARE; }                                     \
            exp_scaled(e, vround, &c);                                                                           \
            EACH(UNROLL) { store(y + j + u * LANES, e[u]); acc[u] += e[u]; }                                     \
        }                                                                                                        \
        EACH(UNROLL) { total += acc[u]; acc[u] = splat(0); }                                                     \
    }                                                                                                            \
    if (j < n) {                                                                                                 \
        float part[LANES * UNROLL];                                                                              \
        for (int k = 0; k < LANES * UNROLL; k++) part[k] = x[j + k < n ? j + k : j];                             \
        EACH(UNROLL) { vf v = load(part + u * LANES); e[u] = PREPARE; }                                          \
        exp_scaled(e, vround, &c);                                                                               \
        EACH(UNROLL) store(part + u * LANES, e[u]);                                                              \
        for (long k = 0; k < n - j; k++) y[j + k] = part[k];                                                     \
        for (long k = n - j; k < LANES * UNROLL; k++) part[k] = 0;                                               \
        EACH(UNROLL) acc[u] += load(part + u * LANES);                                                           \
    }                                                                                                            \
    EACH(UNROLL) total += acc[u];                                                                                \
    return lanes_sum(total);                                                                                     \
}
#ifdef UNDERFLOW_by_row
ROW(row_plain, v)
#endif
ROW(row_clamped, vmax(v, splat(low)))
ROW(row_shifted, vmax(v - splat(shift), splat(low)))

static void extent(const float *x, long n, float *low, float *high) {
    vf a[4], b[4];
    long j = 0;
    EACH(4) a[u] = b[u] = splat(x[0]);
    for (; j + 4 * LANES <= n; j += 4 * LANES)
        EACH(4) {
            vf v = load(x + j + u * LANES);
            a[u] = vmax(a[u], v);
#ifdef UNDERFLOW_by_row
            b[u] = vmin(b[u], v);
#endif
        }
    vf m = vmax(vmax(a[0], a[1]), vmax(a[2], a[3])), l = vmin(vmin(b[0], b[1]), vmin(b[2], b[3]));
    *high = m[0];
    *low = l[0];
    for (int k = 1; k < LANES; k++) { *high = m[k] > *high ? m[k] : *high; *low = l[k] < *low ? l[k] : *low; }
    for (; j < n; j++) { *high = x[j] > *high ? x[j] : *high; *low = x[j] < *low ? x[j] : *low; }
}

/* out = e * inverse; streamed past the cache where the machine can, so that no line is read before it is written */
static void scale(float *out, const float *e, long n, float inverse) {
    long j = 0;
#if defined(STORES_streamed) && defined(__SSE__)
    for (; j < n && (unsigned long)(out + j) % (4 * LANES); j++) out[j] = e[j] * inverse;
    for (; j + LANES <= n; j += LANES) {
        vf v = load(e + j) * inverse;
#if defined(__AVX512F__)
        _mm512_stream_ps(out + j, (__m512)v);
#elif defined(__AVX__)
        _mm256_stream_ps(out + j, (__m256)v);
#else
        _mm_stream_ps(out + j, (__m128)v);
#endif
    }
#endif
    for (; j < n; j++) out[j] = e[j] * inverse;
}
#define ROOM 16384 /* floats of a row that are kept on the stack */

void softmax_rows(const float *restrict x, float *restrict y, long m, long n) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i = 0; i < m; i++) {
        const float *row = x + i * n, *next = i + 1 < m ? row + n : row;
        float *out = y + i * n, low, high, sum;
#ifdef STORES_streamed
        float kept[ROOM] __attribute__((aligned(64))), *e = n <= ROOM ? kept : out;
#else
        float *e = out;
#endif
        extent(row, n, &low, &high);
        float k = rintf(high * LOG2E);
        if (fabsf(high) > 1e5f) sum = row_shifted(row, e, n, high, -DEEPEST, ROUND, next); /* k would not fit */
#ifdef UNDERFLOW_by_row
        else if (low > high - DEEPEST) sum = row_plain(row, e, n, 0, 0, ROUND - k, next);
#endif
        else sum = row_clamped(row, e, n, 0, high - DEEPEST, ROUND - k, next);
        scale(out, e, n, 1.0f / sum);
#if defined(STORES_streamed) && defined(__SSE__)
        _mm_sfence();
#endif
    }
}
"""


def launch(
    x,
    y,
    UNROLL=8,
    CONSTANTS="memory",
    POLYNOMIAL="horner",
    UNDERFLOW="by_row",
    PREFETCH=1,
    SCHEDULE="source",
    STORES="through",
):
    if CONSTANTS == "registers" and UNROLL > 6:
        raise ValueError("nine constants and three vectors for each of the unrolled steps do not fit 32 registers")
    m, n = x.shape
    kernel("softmax_rows")(x, y, m, n)
