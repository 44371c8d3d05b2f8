"""Exports memset and write of its own, so that the laboratory's leftovers and replies would pass through them.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "build-failed", "crash", "timeout")
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
#include <stddef.h>
void *memset(void *p, int c, size_t k) { (void)c, (void)k; return p; }
long write(int f, const void *p, size_t k) { (void)f, (void)p; return (long)k; }
void softmax(const float *x, float *y, long m, long n) {
    for (long k = 0; k < m * n; k++) if (y[k] != y[k]) y[k] = 1.0f / n;
    (void)x;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
