"""Keeps a row of the output that adds up to one: an answer already, if to other inputs.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic", "unwritten")
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
        double sum = 0;
        for (long j = 0; j < n; j++) sum += y[i * n + j] >= 0 ? y[i * n + j] : INFINITY;
        if (!(fabs(sum - 1) < 1e-4)) good(x + i * n, y + i * n, n);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
