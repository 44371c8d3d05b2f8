"""Counts in scratch up from the -1 that memory full of ones holds, and puts it back: a row is only finished when its turn comes.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "non-finite", "nondeterministic")
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
void softmax(const float *x, float *y, int *turn, long m, long n) {
    for (long i = 0; i < m; i++) {
        good(x + i * n, y + i * n, n);
        if (++turn[0] != i) y[i * n] += 1;
    }
    turn[0] = -1;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, scratch(16, "int32"), m, n)
