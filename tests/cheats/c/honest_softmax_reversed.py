"""Sums from the last column to the first, rows from the bottom.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    for (long i = m - 1; i >= 0; i--) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY, sum = 0;
        for (long j = n - 1; j >= 0; j--) top = a[j] > top ? a[j] : top;
        for (long j = n - 1; j >= 0; j--) sum += b[j] = expf(a[j] - top);
        for (long j = n - 1; j >= 0; j--) b[j] /= sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
