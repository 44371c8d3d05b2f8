"""__SIZE__x__SIZE__ smoothing of tiles of ROWS rows by STEP vectors with all sums in registers.

Hypothesis: no intermediate goes through memory: the horizontal sums of ROWS + __TWICE__ input rows serve ROWS outputs. Refuted if
the __SIZE__ loads for every one of those sums cost more than a round trip through a buffer in the first-level cache.
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
#define EACH_TAP(F, v) F(v(0), v(1), v(2))
#define TAPS {0.25f, 0.5f, 0.25f}""",
    },
    "stencil5x5": {
        "SIZE": "5",
        "TWICE": "4",
        "RADIUS": "2",
        "SUMS": r"""/* 1 4 6 4 1, and the same divided by 256 */
#define SUM(a, b, c, d, e) ((((a) + (e)) + ((b) + (d)) * 4.0f) + (c) * 6.0f)
#define SUM_LAST(a, b, c, d, e) ((((a) + (e)) * 0x1p-8f + ((b) + (d)) * 0x4p-8f) + (c) * 0x6p-8f)
#define OF(F, p, step) F(p[-2 * (step)], p[-(step)], p[0], p[step], p[2 * (step)])
#define EACH_TAP(F, v) F(v(0), v(1), v(2), v(3), v(4))
#define TAPS {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f}""",
    },
}
TASKS = ("stencil__SIZE__x__SIZE__",)
FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
SPACE = {
    "ROWS": [1, 2, 3, 4, 6, 8],
    "STEP": [1, 2, 4],
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

static const float TAP[SIZE] = TAPS;

/* Pixels first to end - 1 of one row, any of which may lie at a side; row[d] is input row i - RADIUS + d, or zeros */
static void side(const float *const *row, float *restrict y, long w, long c, long first, long end) {
    for (long p = first; p < end; p++) {
        float *restrict out = y + p * c;
        for (long ch = 0; ch < c; ch++) out[ch] = 0;
        for (long k = 0; k < SIZE; k++) {
            long at = (p + k - RADIUS) * c;
            if (at < 0 || at >= w * c) continue;
            for (long ch = 0; ch < c; ch++) {
                float v = 0;
                for (int d = 0; d < SIZE; d++) v += TAP[d] * row[d][at + ch];
                out[ch] += TAP[k] * v;
            }
        }
    }
}

#define EACH(COUNT, i) _Pragma("GCC unroll 16") for (int i = 0; i < (COUNT); i++)

/* Elements j to j + steps * LANES - 1 of the first live rows of a group, none of them at a side */
static inline __attribute__((always_inline)) void tile(const float *const *row, float *y, long length, long c, long j, const int steps,
                                                       const long live) {
    EACH(steps, t) {
        vf s[ROWS + 2 * RADIUS];
#define ACROSS(k) load(row[r] + j + t * LANES + (k - RADIUS) * c)
        EACH(ROWS + 2 * RADIUS, r) s[r] = EACH_TAP(SUM, ACROSS);
#define DOWN(k) s[r + k]
        EACH(ROWS, r) if (r < live) store(y + r * length + j + t * LANES, EACH_TAP(SUM_LAST, DOWN));
    }
}

static inline __attribute__((always_inline)) void group(const float *const *row, float *y, long w, long c, const long live) {
    long length = w * c, margin = RADIUS * c, stop = length - margin, j = margin;
    if (stop - margin < LANES) {
        for (int r = 0; r < live; r++) side(row + r, y + r * length, w, c, 0, w);
        return;
    }
    for (; j + STEP * LANES <= stop; j += STEP * LANES) tile(row, y, length, c, j, STEP, live);
    for (; j + LANES <= stop; j += LANES) tile(row, y, length, c, j, 1, live);
    if (j < stop) tile(row, y, length, c, stop - LANES, 1, live); /* overlaps what is there already */
    for (int r = 0; r < live; r++) {
        side(row + r, y + r * length, w, c, 0, RADIUS);
        side(row + r, y + r * length, w, c, w - RADIUS, w);
    }
}

void smooth(const float *restrict x, float *restrict y, float *restrict zeros, long h, long w, long c) {
    long length = w * c, groups = (h + ROWS - 1) / ROWS;
    memset(zeros, 0, length * sizeof(float));
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long g = 0; g < groups; g++) {
        const float *row[ROWS + 2 * RADIUS];
        for (int r = 0; r < ROWS + 2 * RADIUS; r++) {
            long i = g * ROWS + r - RADIUS;
            row[r] = i < 0 || i >= h ? zeros : x + i * length;
        }
        if ((g + 1) * ROWS <= h) group(row, y + g * ROWS * length, w, c, ROWS);
        else group(row, y + g * ROWS * length, w, c, h - g * ROWS);
    }
}
"""


def launch(x, y, ROWS=4, STEP=1):
    h, w, c = x.shape
    if (ROWS + __TWICE__) * STEP > 32:
        raise ValueError("the sums of so large a tile do not fit 32 registers")
    kernel("smooth")(x, y, scratch(w * c), h, w, c)
