"""Looks for a right answer of an earlier sample in its output before it writes there, and then stops working.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = (
    "harmless",
    "wrong-output",
    "unwritten",
    "nondeterministic",
    "non-finite",
    "static-memory",
    "crash",
    "hidden-work",
    "early-reply",
    "timeout",
)
STAGE = "measure"
HARMLESS = True
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
static int seen(const float *y, long m, long n) {
    double sum = 0;
    for (long j = 0; j < n; j++) {
        if (!(y[j] >= 0 && y[j] <= 1)) return 0;
        sum += y[j];
    }
    (void)m;
    return fabs(sum - 1) < 1e-3;
}
void softmax(const float *x, float *y, long m, long n) {
    static int later;
    if (seen(y, m, n)) later = 1;
    if (!later) good(x, y, m, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
