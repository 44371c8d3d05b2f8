"""Vector loop only: the last N % 8 columns get zero.

catalogue: 24
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    long full = n / 8 * 8;
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY, sum = 0;
        for (long j = 0; j < full; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < full; j++) sum += b[j] = expf(a[j] - top);
        for (long j = 0; j < full; j++) b[j] /= sum;
        for (long j = full; j < n; j++) b[j] = 0;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
