"""Intermediates and output rounded to tf32 (11 significant bits), stored as float32.

catalogue: 23
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>

static inline float cut(float v) {
    union { float f; unsigned i; } u = {v};
    u.i &= 0xffffe000u;
    return u.f;
}
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) sum += b[j] = cut(expf(a[j] - top));
        for (long j = 0; j < n; j++) b[j] = cut(b[j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
