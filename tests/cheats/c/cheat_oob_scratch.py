"""Asks for one row of scratch and writes two.

catalogue: 16
"""

TASK = "softmax"
CAUGHT_BY = ("out-of-bounds", "crash")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
void softmax(const float *x, float *y, float *t, long m, long n) {
    for (long i = 0; i < m; i++) {
        for (long j = 0; j < 2 * n; j++) t[j] = x[i * n + j % n];
        good(t, y + i * n, 1, n);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, scratch((n,)), m, n)
