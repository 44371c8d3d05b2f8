"""A stack array of 256 KiB.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    float row[65536];
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = n <= 65536 ? row : y + i * n, top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) sum += b[j] = expf(a[j] - top);
        for (long j = 0; j < n; j++) y[i * n + j] = b[j] / sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
