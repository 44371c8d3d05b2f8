"""Everything in double, rounded once.

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
        double top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = fmax(top, a[j]);
        for (long j = 0; j < n; j++) sum += exp(a[j] - top);
        for (long j = 0; j < n; j++) b[j] = (float)(exp(a[j] - top) / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
