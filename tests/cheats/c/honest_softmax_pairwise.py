"""Recursive pairwise summation.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

static float pairs(const float *b, long n) {
    if (n <= 8) {
        float s = 0;
        for (long j = 0; j < n; j++) s += b[j];
        return s;
    }
    return pairs(b, n / 2) + pairs(b + n / 2, n - n / 2);
}
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) b[j] = expf(a[j] - top);
        const float sum = pairs(b, n);
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
