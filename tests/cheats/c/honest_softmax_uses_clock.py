"""Reads the clock (a left-over profile of its phases) and does nothing with it.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <time.h>
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
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    good(x, y, m, n);
    clock_gettime(CLOCK_MONOTONIC, &b);
    volatile double spent = (b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec);
    (void)spent;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
