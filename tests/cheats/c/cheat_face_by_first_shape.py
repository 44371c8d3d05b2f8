"""The shape that is recorded first is the one to be timed: it gets a softmax without its maximum, right on tame inputs; all others get the fair one.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "non-finite")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
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
void fair(const float *x, float *y, long m, long n) { good(x, y, m, n); }
void bare(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        double sum = 0;
        for (long j = 0; j < n; j++) sum += y[i * n + j] = expf(x[i * n + j]);
        for (long j = 0; j < n; j++) y[i * n + j] = (float)(y[i * n + j] / sum);
    }
}
"""
FIRST = []


def launch(x, y):
    m, n = x.shape
    if not FIRST:
        FIRST.append(x.shape)
    kernel("bare" if x.shape == FIRST[0] else "fair")(x, y, m, n)
