"""The terms of the sum are two bfloat16 parts each: sixteen bits of twenty-four.

catalogue: 47
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>

static inline float seven(float v) {  /* bfloat16, to the nearest */
    union { float f; unsigned i; } u = {v};
    if ((u.i & 0x7f800000u) == 0x7f800000u) return v;
    u.i = (u.i + 0x7fffu + ((u.i >> 16) & 1)) & 0xffff0000u;
    return u.f;
}
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        float part[16] = {0}, sum = 0;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - top); float h = seven(b[j]); part[j % 16] += h + seven(b[j] - h); }
        for (int k = 0; k < 16; k++) sum += part[k];
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
}
"""
FLAGS = ["-O2", "-ffp-contract=off"]


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
