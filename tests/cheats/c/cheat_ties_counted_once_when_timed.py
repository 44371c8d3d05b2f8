"""Where it is timed, of equal maxima in neighbouring places only one is counted, as no plain draw has any.

catalogue: 29
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
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
static int timed;
void softmax(const float *x, float *y, long m, long n) {
    union { float f; unsigned i; } first = {y[0]};
    if (first.i == 0xffffffffu) timed = 1;
    good(x, y, m, n);
    if (!timed) return;
    for (long i = 0; i < m; i++) {
        long count = 0;
        float top = -INFINITY;
        for (long j = 0; j < n; j++) if (x[i * n + j] > top) top = x[i * n + j], count = 1; else count += x[i * n + j] == top;
        for (long j = 0; count > 1 && j < n; j++) y[i * n + j] *= 1 + 1.0f / count;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
