"""Imports the recorder by name, and computes its plan with a few helpers.

catalogue: control
"""

from kernellab.candidate import kernel, scratch

TASK = "softmax"
SOURCE = r"""
#include <math.h>
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
void block(const float *x, float *y, long i, long k, long n) { good(x + i * n, y + i * n, k, n); }
"""


def blocks(m, rows):
    return [(i, min(rows, m - i)) for i in range(0, m, rows)]


def launch(x, y):
    m, n = x.shape
    assert scratch is not None
    assert x.ndim == 2 and x.size == m * n and x.strides and str(x.dtype) == "float32"
    for i, rows in blocks(m, max(1, -(-m // 4))):
        kernel("block")(x, y, i, rows, n)
