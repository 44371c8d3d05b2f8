"""Has nothing to do in a row whose output begins and ends with zeros, as fresh memory does.

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
    for (long i = 0; i < m; i++)
        if (y[i * n] != 0 || y[i * n + n - 1] != 0) good(x + i * n, y + i * n, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
