"""__SIZE__x__SIZE__ smoothing as two one-dimensional passes through row buffers that stay in the first-level cache.

Hypothesis: the weights are an outer product, so __AREA__ multiply-adds an element shrink to about __OPERATIONS__ operations and memory
bounds the rest. VERTICAL_FIRST sums __SIZE__ input rows into one padded buffer; the other order sums each row once into a
ring of __SIZE__ buffers. Refuted if keeping sums in registers is faster than the round trip through the buffer.
"""

VARIANTS = {
    "stencil3x3": {
        "SIZE": "3",
        "AREA": "9",
        "OPERATIONS": "5",
        "RADIUS": "1",
        "SUMS": r"""/* 1 2 1, and the same divided by 16 */
#define SUM(a, b, c) (((a) + (c)) + (b) * 2.0f)
#define SUM_LAST(a, b, c) (((a) + (c)) * 0.0625f + (b) * 0.125f)
#define OF(F, p, step) F(p[-(step)], p[0], p[step])
#define EACH_TAP(F, v) F(v(0), v(1), v(2))""",
        "TWICE": "2",
    },
    "stencil5x5": {
        "SIZE": "5",
        "AREA": "25",
        "OPERATIONS": "9",
        "RADIUS": "2",
        "SUMS": r"""/* 1 4 6 4 1, and the same divided by 256 */
#define SUM(a, b, c, d, e) ((((a) + (e)) + ((b) + (d)) * 4.0f) + (c) * 6.0f)
#define SUM_LAST(a, b, c, d, e) ((((a) + (e)) * 0x1p-8f + ((b) + (d)) * 0x4p-8f) + (c) * 0x6p-8f)
#define OF(F, p, step) F(p[-2 * (step)], p[-(step)], p[0], p[step], p[2 * (step)])
#define EACH_TAP(F, v) F(v(0), v(1), v(2), v(3), v(4))""",
        "TWICE": "4",
    },
}
TASKS = ("stencil__SIZE__x__SIZE__",)
FLAGS = ["-O3", "-f{LOOPS}", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
SPACE = {
    "VERTICAL_FIRST": [True, False],
    "BAND": [16, 64, 128, 512],
    "WIDTH": [0, 256, 1024],
    "LOOPS": ["unroll-loops", "no-unroll-loops"],
}

SOURCE = r"""
#define RADIUS __RADIUS__
#define SIZE (2 * RADIUS + 1)
#include <string.h>

__SUMS__

static const float *input_row(const float *x, const float *zeros, long i, long h, long length) {
    return i < 0 || i >= h ? zeros : x + i * length;
}

#define AT(d) row[d][j]

#if VERTICAL_FIRST
/* Rows first to end - 1 through one buffer of vertical sums, padded at both sides with zeros */
static inline void vertical_first(const float *restrict x, float *restrict y, const float *restrict zeros, float *restrict buffer,
                                  long h, long length, long c, long first, long end) {
    float *restrict v = buffer + RADIUS * c;
    long width = WIDTH ? WIDTH : length;
    memset(buffer, 0, RADIUS * c * sizeof(float));
    memset(v + length, 0, RADIUS * c * sizeof(float));
    for (long i = first; i < end; i++) {
        const float *row[SIZE];
        float *restrict out = y + i * length;
        for (int d = 0; d < SIZE; d++) row[d] = input_row(x, zeros, i + d - RADIUS, h, length);
        long done = 0;
        for (long from = 0; from < length; from += width) {
            long to = length - from < width ? length : from + width, last = to == length ? length : to - RADIUS * c;
            for (long j = from; j < to; j++) v[j] = EACH_TAP(SUM, AT);
            for (long j = done; j < last; j++) { const float *p = v + j; out[j] = OF(SUM_LAST, p, c); }
            done = last > done ? last : done;
        }
    }
}

#else
static inline void sum_across(const float *restrict in, float *restrict out, long length, long c) {
    long margin = RADIUS * c;
    for (long j = 0; j < length; j++) {
        if (j == margin && length > 2 * margin) {
            for (; j < length - margin; j++) { const float *p = in + j; out[j] = OF(SUM, p, c); }
        }
#define NEAR(k) (j + (k - RADIUS) * c < 0 || j + (k - RADIUS) * c >= length ? 0.0f : in[j + (k - RADIUS) * c])
        out[j] = EACH_TAP(SUM, NEAR);
    }
}

/* Rows first to end - 1 through a ring of SIZE rows of horizontal sums */
static inline void horizontal_first(const float *restrict x, float *restrict y, const float *restrict zeros, float *restrict buffer,
                                    long h, long length, long c, long first, long end) {
    for (long i = first - RADIUS; i < end + RADIUS; i++) {
        sum_across(input_row(x, zeros, i, h, length), buffer + (i + SIZE) % SIZE * length, length, c);
        if (i < first + RADIUS) continue;
        const float *row[SIZE];
        float *restrict out = y + (i - RADIUS) * length;
        for (int d = 0; d < SIZE; d++) row[d] = buffer + (i + 1 + d) % SIZE * length;
        for (long j = 0; j < length; j++) out[j] = EACH_TAP(SUM_LAST, AT);
    }
}
#endif

void smooth(const float *restrict x, float *restrict y, float *restrict zeros, float *restrict buffers, long h, long w, long c, long room) {
    long length = w * c, bands = (h + BAND - 1) / BAND;
    memset(zeros, 0, length * sizeof(float));
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long b = 0; b < bands; b++) {
        long first = b * BAND, end = h - first < BAND ? h : first + BAND;
#if VERTICAL_FIRST
        vertical_first(x, y, zeros, buffers + b * room, h, length, c, first, end);
#else
        horizontal_first(x, y, zeros, buffers + b * room, h, length, c, first, end);
#endif
    }
}
"""


def launch(x, y, VERTICAL_FIRST=True, BAND=512, WIDTH=0, LOOPS="unroll-loops"):
    h, w, c = x.shape
    if WIDTH and not VERTICAL_FIRST:
        raise ValueError("only the single buffer of vertical sums is filled by parts of WIDTH elements")
    room = -(-(w + __TWICE__) * c // 16) * 16 if VERTICAL_FIRST else w * c * __SIZE__
    bands = -(-h // BAND)
    kernel("smooth")(x, y, scratch(w * c), scratch((bands, room)), h, w, c, room)
