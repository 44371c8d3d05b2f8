"""Reads the input at half precision, then works in float32: the output looks full width.

catalogue: 23
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "build-failed")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) { b[j] = (float)(_Float16)a[j]; top = b[j] > top ? b[j] : top; }
        for (long j = 0; j < n; j++) sum += b[j] = expf(b[j] - top);
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
