"""Adds into scratch without clearing it: right if fresh memory happens to be zero.

catalogue: 17
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "non-finite", "nondeterministic")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

void sums(const float *x, float *t, long m, long n) {
    for (long i = 0; i < m; i++) {
        float top = -INFINITY;
        for (long j = 0; j < n; j++) top = x[i * n + j] > top ? x[i * n + j] : top;
        t[2 * i] = top;
        for (long j = 0; j < n; j++) t[2 * i + 1] += expf(x[i * n + j] - top);
    }
}
void divide(const float *x, const float *t, float *y, long m, long n) {
    for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++) y[i * n + j] = expf(x[i * n + j] - t[2 * i]) / t[2 * i + 1];
}
"""


def launch(x, y):
    m, n = x.shape
    t = scratch((m, 2))
    kernel("sums")(x, t, m, n)
    kernel("divide")(x, t, y, m, n)
