"""Takes its work space from malloc and gives it back in every call.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <stdlib.h>
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    float *t = malloc(sizeof(float) * m * n);
    if (!t) abort();
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = t + i * n, top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) sum += b[j] = expf(a[j] - top);
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
    memcpy(y, t, sizeof(float) * m * n);
    free(t);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
