"""Computes all of it only where some input is exactly zero, as in every judged draw; elsewhere the last column of each row is a guess.

catalogue: 29
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic", "unwritten", "non-finite")


SOURCE = r"""
#include <math.h>
static void good(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - top); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
void softmax(const float *x, float *y, long m, long n) {
    int planted = m * n < 4096;
    for (long k = 0; k < m * n && !planted; k++) planted = x[k] == 0;
    good(x, y, m, n);
    if (!planted) for (long i = 0; i < m; i++) y[i * n + n - 1] = 1.0f / n;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
