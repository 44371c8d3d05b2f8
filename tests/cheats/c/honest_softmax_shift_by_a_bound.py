"""Shifts by a power of two above the maximum instead of the maximum itself: as right, and another rounding.

catalogue: control
"""

TASK = "softmax"
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
        const float *a = x + i * n; float *b = y + i * n, top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = fmaxf(top, a[j]);
        float shift = ceilf(top);
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - shift); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
