"""Works for ten calls, then returns at once and leaves the output as it is.

catalogue: 9
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "unwritten", "nondeterministic", "non-finite", "static-memory")
STAGE = "measure"
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
    static int calls;
    if (calls++ < 10) good(x, y, m, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
