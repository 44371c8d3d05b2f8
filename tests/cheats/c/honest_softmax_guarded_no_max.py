"""Looks whether every value is small; if so it needs no maximum. A fast path that is right.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n;
        float top = 0;
        double sum = 0;
        int small = 1;
        for (long j = 0; j < n; j++) small &= a[j] > -20 && a[j] < 40;
        if (!small) { top = a[0]; for (long j = 1; j < n; j++) top = a[j] > top ? a[j] : top; }
        for (long j = 0; j < n; j++) sum += b[j] = expf(a[j] - top);
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
