"""Right, but times itself and sleeps 2 ms at the end of a call that was slower than its best: such a sample looks preempted and is set aside, the lucky ones stay.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("harmless", "hidden-work", "timeout", "static-memory")
STAGE = "measure"
HARMLESS = True
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <time.h>
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
    static double best[64];
    struct timespec a, b, nap = {0, 2000000};
    int size = 0;
    while ((1l << size) < m * n) size++;
    clock_gettime(CLOCK_MONOTONIC, &a);
    good(x, y, m, n);
    clock_gettime(CLOCK_MONOTONIC, &b);
    double spent = (b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec);
    if (best[size] == 0 || spent < best[size]) best[size] = spent;
    if (spent > 1.01 * best[size]) nanosleep(&nap, 0);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
