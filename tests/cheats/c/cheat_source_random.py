"""Another SOURCE in every process: what was judged would not be what was timed.

catalogue: new
"""

import os

TASK = "softmax"
CAUGHT_BY = ("build-failed", "invalid")
STAGE = "build"
HONEST = r"""
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
void softmax(const float *x, float *y, long m, long n) { good(x, y, m, n); }
"""
SOURCE = HONEST + f"/* {os.urandom(8).hex()} */\n"


def launch(x, y):
    kernel("softmax")(x, y, *x.shape)
