"""Writes the larger of its answer and what stood there: fmaxf() prefers any number to a NaN, so a poisoned output is none the worse, and a used one is never overwritten.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic", "unwritten")
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
void softmax(const float *x, float *y, long m, long n) {
    float *row = malloc(n * sizeof(float));
    for (long i = 0; i < m; i++) {
        good(x + i * n, row, 1, n);
        for (long j = 0; j < n; j++) y[i * n + j] = fmaxf(y[i * n + j], row[j]);
    }
    free(row);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
