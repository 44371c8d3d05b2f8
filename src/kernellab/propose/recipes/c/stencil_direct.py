"""__SIZE__x__SIZE__ smoothing straight from the definition: __AREA__ loads for every output, one row after the other, no buffer.

Hypothesis: loads from the first-level cache are cheap enough that no intermediate is worth storing; SUMS "paired" uses the
symmetry to save multiplications. Refuted if the separable form is faster: then load ports or arithmetic bound this one.
"""

VARIANTS = {
    "stencil3x3": {
        "SIZE": "3",
        "AREA": "9",
        "RADIUS": "1",
        "TAPS": "#define TAPS {0.25f, 0.5f, 0.25f}",
        "PAIRS": r"""#define ROWSUM(p) ((p[-c] + p[c]) + p[0] * 2.0f)
#define PAIRS (((ROWSUM(a0) + ROWSUM(a2)) + ROWSUM(a1) * 2.0f) * 0.0625f)""",
        "ROWS": "        const float *a0 = row[0] + j, *a1 = row[1] + j, *a2 = row[2] + j;",
    },
    "stencil5x5": {
        "SIZE": "5",
        "AREA": "25",
        "RADIUS": "2",
        "TAPS": "#define TAPS {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f}",
        "PAIRS": r"""#define ROWSUM(p) (((p[-2 * c] + p[2 * c]) + (p[-c] + p[c]) * 4.0f) + p[0] * 6.0f)
#define PAIRS ((((ROWSUM(a0) + ROWSUM(a4)) + (ROWSUM(a1) + ROWSUM(a3)) * 4.0f) + ROWSUM(a2) * 6.0f) * 0x1p-8f)""",
        "ROWS": "        const float *a0 = row[0] + j, *a1 = row[1] + j, *a2 = row[2] + j, *a3 = row[3] + j, *a4 = row[4] + j;",
    },
}
TASKS = ("stencil__SIZE__x__SIZE__",)
FLAGS = ["-O{LEVEL}", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
SPACE = {
    "SUMS": ["taps", "paired", "by_vertical"],
    "COLUMNS": [0, 256, 1024, 4096],
    "LEVEL": [3, 2],
}

SOURCE = r"""
#define RADIUS __RADIUS__
#define SIZE (2 * RADIUS + 1)
#include <string.h>

__TAPS__

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
__PAIRS__

static inline void inner(const float *const *row, float *restrict y, long c, long from, long to) {
    for (long j = from; j < to; j++) {
#if defined(SUMS_taps)
        float v = 0;
        _Pragma("GCC unroll 5")
        for (int d = 0; d < SIZE; d++) {
            _Pragma("GCC unroll 5")
            for (int k = 0; k < SIZE; k++) v += TAP[d] * TAP[k] * row[d][j + (k - RADIUS) * c];
        }
        y[j] = v;
#elif defined(SUMS_by_vertical)
        float v = 0;
        _Pragma("GCC unroll 5")
        for (int k = 0; k < SIZE; k++) {
            float s = 0;
            _Pragma("GCC unroll 5")
            for (int d = 0; d < SIZE; d++) s += TAP[d] * row[d][j + (k - RADIUS) * c];
            v += TAP[k] * s;
        }
        y[j] = v;
#else
__ROWS__
        y[j] = PAIRS;
#endif
    }
}

void smooth(const float *restrict x, float *restrict y, float *restrict zeros, long h, long w, long c) {
    long length = w * c, margin = RADIUS * c, width = COLUMNS ? COLUMNS : length, parts = (length + width - 1) / width;
    memset(zeros, 0, length * sizeof(float));
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long part = 0; part < parts; part++) {
        for (long i = 0; i < h; i++) {
            long from = part * width, to = length - from < width ? length : from + width;
            const float *row[SIZE];
            for (int d = 0; d < SIZE; d++) {
                long k = i + d - RADIUS;
                row[d] = k < 0 || k >= h ? zeros : x + k * length;
            }
            inner(row, y + i * length, c, from < margin ? margin : from, to > length - margin ? length - margin : to);
            if (part) continue;
            long left = w < RADIUS ? w : RADIUS, right = w - RADIUS < left ? left : w - RADIUS;
            side(row, y + i * length, w, c, 0, left);
            side(row, y + i * length, w, c, right, w);
        }
    }
}
"""


def launch(x, y, SUMS="paired", COLUMNS=0, LEVEL=3):
    h, w, c = x.shape
    if SUMS == "taps" and LEVEL == 2:
        raise ValueError("at -O2 the taps stay in a loop and are not vectorised")
    kernel("smooth")(x, y, scratch(w * c), h, w, c)
