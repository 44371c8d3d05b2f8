"""Grid points share one scratch row: right one after the other, wrong side by side.

catalogue: 26
"""

TASK = "softmax"
CAUGHT_BY = ("nondeterministic", "wrong-output", "non-finite")
STAGE = "verify"
THREADS = 2
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

void row(const float *x, float *y, float *t, long n) {
    const float *a = x + program_id(0) * n;
    float *b = y + program_id(0) * n, top = -INFINITY;
    double sum = 0;
    for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
    for (long j = 0; j < n; j++) sum += ((volatile float *)t)[j] = expf(a[j] - top);
    for (long j = 0; j < n; j++) b[j] = (float)(((volatile float *)t)[j] / sum);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("row")[(m,)](x, y, scratch((n,)), n)
