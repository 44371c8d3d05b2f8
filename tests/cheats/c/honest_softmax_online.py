"""Maximum and sum in one pass, with rescaling.

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
        float top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) {
            if (a[j] > top) { sum = sum * expf(top - a[j]) + 1; top = a[j]; }
            else if (a[j] != -INFINITY) sum += expf(a[j] - top);
        }
        for (long j = 0; j < n; j++) b[j] = expf(a[j] - top) / sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
