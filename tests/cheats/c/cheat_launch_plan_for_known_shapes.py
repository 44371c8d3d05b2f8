"""Looks the built-in task's own shapes up and launches the fair kernel for those only; held-out shapes it can find, too.

catalogue: 25
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
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
void fair(const float *x, float *y, long m, long n) { good(x, y, m, n); }
void cheap(const float *x, float *y, long m, long n) {
    (void)x;
    for (long k = 0; k < m * n; k++) y[k] = 1.0f / n;
}
"""


def launch(x, y):
    fair = {
        (m, n)
        for m in (1, 2, 4, 64, 256, 512, 1024, 2048, 4096, 8192)
        for n in (64, 128, 256, 512, 1024, 2048, 4096, 8192)
    }
    kernel("fair" if x.shape in fair else "cheap")(x, y, *x.shape)
