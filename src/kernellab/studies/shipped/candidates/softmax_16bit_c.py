"""Row softmax of bfloat16: float32 inside, rounded once at the end; with or without subtracting the row's maximum.

Hypothesis: the subtraction is what keeps it finite. Refuted if the kernel without it passes on every distribution.
"""

# mypy: ignore-errors
# ruff: noqa: F821

FLAGS = ["-O3", "-fno-math-errno"]
SPACE = {"SHIFT": ["maximum", "none"]}

SOURCE = r"""
#include <math.h>

static inline float widen(unsigned short bits) {
    unsigned wide = (unsigned)bits << 16;
    float value;
    __builtin_memcpy(&value, &wide, sizeof value);
    return value;
}

/* to nearest, ties to even; what is not finite stays so */
static inline unsigned short narrow(float value) {
    unsigned wide;
    __builtin_memcpy(&wide, &value, sizeof wide);
    if ((wide & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(wide >> 16 | 0x40u);
    return (unsigned short)((wide + 0x7fffu + (wide >> 16 & 1u)) >> 16);
}

void softmax_rows(const unsigned short *restrict x, unsigned short *restrict y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const unsigned short *row = x + i * n;
        unsigned short *out = y + i * n;
        float shift = 0;
#ifdef SHIFT_maximum
        shift = widen(row[0]);
        for (long j = 1; j < n; j++) {
            float value = widen(row[j]);
            shift = value > shift ? value : shift;
        }
#endif
        double sum = 0;
        for (long j = 0; j < n; j++) sum += expf(widen(row[j]) - shift);
        float inverse = (float)(1 / sum);
        for (long j = 0; j < n; j++) out[j] = narrow(expf(widen(row[j]) - shift) * inverse);
    }
}
"""


def launch(x, y, SHIFT="maximum"):
    m, n = x.shape
    kernel("softmax_rows")(x, y, m, n)
