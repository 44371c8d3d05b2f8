"""Sleeps in its first calls so that an adaptive harness repeats less, then stops working.

catalogue: 4
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "unwritten", "nondeterministic", "non-finite", "timeout", "static-memory")
STAGE = "measure"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>
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
    static int calls;
    if (calls++ < 6) { usleep(150000); good(x, y, m, n); }
    else for (long k = 0; k < m * n; k++) y[k] = 1.0f / n;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
