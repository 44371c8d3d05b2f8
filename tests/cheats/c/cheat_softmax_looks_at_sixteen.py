"""Looks at sixteen elements of a row to tell whether its maximum must be subtracted: right where a row's numbers are all of a size.

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
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n;
        int large = n < 100;
        for (long j = 0; j < 16 && !large; j++) large = fabsf(a[n / 16 * j]) > 80;
        if (large) { good(a, b, 1, n); continue; }
        double sum = 0;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j]); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
