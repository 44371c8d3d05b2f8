"""__SIZE__x__SIZE__ smoothing of several output rows at a time: each input row is loaded once for all the rows that need it.

Hypothesis: with ROWS rows together an output costs (ROWS + __TWICE__) / ROWS loads for its vertical sum instead of __SIZE__, and one
pass over memory serves them all; COLUMNS keeps the buffers in the first-level cache. Refuted if loads are not what
bounds the vertical sum.
"""

VARIANTS = {
    "stencil3x3": {
        "SIZE": "3",
        "TWICE": "2",
        "RADIUS": "1",
        "SUMS": r"""/* 1 2 1, and the same divided by 16 */
#define SUM(a, b, c) (((a) + (c)) + (b) * 2.0f)
#define SUM_LAST(a, b, c) (((a) + (c)) * 0.0625f + (b) * 0.125f)
#define OF(F, p, step) F(p[-(step)], p[0], p[step])
#define EACH_TAP(F, v) F(v(0), v(1), v(2))""",
    },
    "stencil5x5": {
        "SIZE": "5",
        "TWICE": "4",
        "RADIUS": "2",
        "SUMS": r"""/* 1 4 6 4 1, and the same divided by 256 */
#define SUM(a, b, c, d, e) ((((a) + (e)) + ((b) + (d)) * 4.0f) + (c) * 6.0f)
#define SUM_LAST(a, b, c, d, e) ((((a) + (e)) * 0x1p-8f + ((b) + (d)) * 0x4p-8f) + (c) * 0x6p-8f)
#define OF(F, p, step) F(p[-2 * (step)], p[-(step)], p[0], p[step], p[2 * (step)])
#define EACH_TAP(F, v) F(v(0), v(1), v(2), v(3), v(4))""",
    },
}
TASKS = ("stencil__SIZE__x__SIZE__",)
FLAGS = ["-O3", "-f{LOOPS}", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
SPACE = {
    "ROWS": [1, 2, 3, 4, 8],
    "COLUMNS": [256, 512, 1024, 4096],
    "LOOPS": ["unroll-loops", "no-unroll-loops"],
}

SOURCE = r"""
#define RADIUS __RADIUS__
#define SIZE (2 * RADIUS + 1)
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

__SUMS__

/* Vertical sums of elements from to to - 1 for ROWS output rows, from ROWS + 2 RADIUS input rows */
static inline void sums(const float *const *row, float *restrict v, long pitch, long from, long to) {
    long j = from;
#define EACH(COUNT) _Pragma("GCC unroll 16") for (int r = 0; r < (COUNT); r++)
    for (; j + LANES <= to; j += LANES) {
        vf a[ROWS + 2 * RADIUS];
        EACH(ROWS + 2 * RADIUS) a[r] = load(row[r] + j);
#define AT(d) a[r + d]
        EACH(ROWS) store(v + r * pitch + j - from, EACH_TAP(SUM, AT));
    }
#define AT1(d) row[r + d][j]
    for (; j < to; j++) EACH(ROWS) v[r * pitch + j - from] = EACH_TAP(SUM, AT1);
}

void smooth(const float *restrict x, float *restrict y, float *restrict zeros, float *restrict buffers, long h, long w, long c, long pitch) {
    long length = w * c, margin = RADIUS * c, groups = (h + ROWS - 1) / ROWS;
    memset(zeros, 0, length * sizeof(float));
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long g = 0; g < groups; g++) {
        const float *row[ROWS + 2 * RADIUS];
        float *restrict buffer = buffers + g * ROWS * pitch;
        for (int r = 0; r < ROWS + 2 * RADIUS; r++) {
            long i = g * ROWS + r - RADIUS;
            row[r] = i < 0 || i >= h ? zeros : x + i * length;
        }
        for (long from = 0; from < length; from += COLUMNS) {
            long to = length - from < COLUMNS ? length : from + COLUMNS;
            long left = from < margin ? from : margin, right = length - to < margin ? length - to : margin;
            for (int r = 0; r < ROWS; r++) {
                memset(buffer + r * pitch, 0, (margin - left) * sizeof(float));
                memset(buffer + r * pitch + margin + to - from + right, 0, (margin - right) * sizeof(float));
            }
            sums(row, buffer + margin - left, pitch, from - left, to + right);
            for (int r = 0; r < ROWS && g * ROWS + r < h; r++) {
                const float *restrict v = buffer + r * pitch + margin;
                float *restrict out = y + (g * ROWS + r) * length + from;
                for (long j = 0; j < to - from; j++) { const float *p = v + j; out[j] = OF(SUM_LAST, p, c); }
            }
        }
    }
}
"""


def launch(x, y, ROWS=2, COLUMNS=1024, LOOPS="unroll-loops"):
    h, w, c = x.shape
    if ROWS * COLUMNS > 16384:
        raise ValueError("buffers of more than 64 KiB do not stay in the first-level cache")
    pitch = -(-(min(COLUMNS, w * c) + __TWICE__ * c) // 16) * 16
    kernel("smooth")(x, y, scratch(w * c), scratch((-(-h // ROWS), ROWS, pitch)), h, w, c, pitch)
