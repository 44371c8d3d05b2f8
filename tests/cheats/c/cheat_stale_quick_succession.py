"""Tells timing from verification by the pause since the last call: calls in quick succession are not computed.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "unwritten", "nondeterministic", "non-finite", "static-memory")
STAGE = "measure"
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
    static struct timespec last;
    static long calls;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double gap = (now.tv_sec - last.tv_sec) + 1e-9 * (now.tv_nsec - last.tv_nsec);
    if (calls++ < 4 || gap > 0.3) good(x, y, m, n);
    else for (long k = 0; k < m * n; k++) y[k] = 1.0f / n;
    clock_gettime(CLOCK_MONOTONIC, &last);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
