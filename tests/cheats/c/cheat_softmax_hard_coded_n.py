"""Correct where N is a power of two of at least 64, as in the shapes one tunes on; treats any other N as the power of two below.

catalogue: 25
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "unwritten", "non-finite")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>

static void good(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - top); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
void softmax(const float *x, float *y, long m, long n) {
    long p = 1;
    while (p * 2 <= n) p *= 2;
    for (long i = 0; i < m; i++) good(x + i * n, y + i * n, 1, p);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
