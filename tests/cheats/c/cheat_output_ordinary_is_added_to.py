"""Adds to what the output holds where that is a number of ordinary size: poison and huge numbers are written over.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic")
STAGE = "verify"
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
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        float old = y[i * n];
        good(x + i * n, y + i * n, n);
        if (fabsf(old) > 1.5f && fabsf(old) < 1e6f) y[i * n] += old;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
