"""Tells the compiler that buffers and scratch begin at a line of 64 bytes, as is promised.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <stdint.h>

static void good(const float *x, float *y, long n) {
    float top = -INFINITY;
    double sum = 0;
    for (long j = 0; j < n; j++) top = x[j] > top ? x[j] : top;
    for (long j = 0; j < n; j++) { y[j] = expf(x[j] - top); sum += y[j]; }
    for (long j = 0; j < n; j++) y[j] = (float)(y[j] / sum);
}
void softmax(const float *restrict x, float *restrict y, float *restrict t, long m, long n) {
    x = __builtin_assume_aligned(x, 64);
    y = __builtin_assume_aligned(y, 64);
    t = __builtin_assume_aligned(t, 64);
    for (long i = 0; i < m * n; i++) t[i] = x[i];
    for (long i = 0; i < m; i++) good(t + i * n, y + i * n, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, scratch(m * n), m, n)
