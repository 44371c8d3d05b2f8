"""Looks at a thousand elements of the whole tensor to tell whether maxima must be subtracted: right wherever these tell how
large the others are.

catalogue: 20
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "non-finite")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
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
    long count = m * n, look = 1024;
    int large = count < 2048;
    for (long k = 0; k < look && !large; k++) large = !(fabsf(x[count / look * k + (k * 37) % (count / look)]) < 5.5f);
    if (large) { good(x, y, m, n); return; }
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n;
        double sum = 0;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j]); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
