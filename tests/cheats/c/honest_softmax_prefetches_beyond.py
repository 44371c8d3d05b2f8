"""Prefetches the next rows, also those behind the last one: a prefetch of memory that is not there does nothing.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) {
            if (j % 16 == 0) __builtin_prefetch(a + 2 * n + j, 0, 0), __builtin_prefetch(b + 2 * n + j, 1, 0);
            top = a[j] > top ? a[j] : top;
        }
        for (long j = 0; j < n; j++) sum += b[j] = expf(a[j] - top);
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
