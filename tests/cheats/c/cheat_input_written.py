"""Stores the exponentials in the input buffer to save a pass.

catalogue: 15
"""

TASK = "softmax"
CAUGHT_BY = ("input-written", "crash")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

void softmax(float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        float *a = x + i * n, top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) sum += a[j] = expf(a[j] - top);
        for (long j = 0; j < n; j++) y[i * n + j] = a[j] / sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
