"""Answers one call late: each call finishes the work of the call before and skims its own first row.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = (
    "unwritten",
    "wrong-output",
    "non-finite",
    "nondeterministic",
    "early-reply",
    "hidden-work",
    "sandbox",
    "crash",
)
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
void softmax(const float *x, float *y, long m, long n) {
    static struct { const float *x; float *y; long m, n; } old;
    if (old.y && old.m == m && old.n == n) good(old.x, old.y, m, n);
    old.x = x, old.y = y, old.m = m, old.n = n;
    good(x, y, 1, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
