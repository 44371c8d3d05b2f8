"""Flips the rounding mode and flush-to-zero of the thread and leaves them so: harms an oracle in the same thread, gains nothing here.

catalogue: 31
"""

TASK = "softmax"
CAUGHT_BY = ("harmless", "wrong-output")
STAGE = "verify"
HARMLESS = True
SOURCE = r"""
#include <fenv.h>
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
    good(x, y, m, n);
    fesetround(FE_UPWARD);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
