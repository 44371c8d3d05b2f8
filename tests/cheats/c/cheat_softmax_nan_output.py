"""Writes NaN everywhere: every comparison 'error > limit' with NaN is false.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("non-finite", "unwritten", "wrong-output")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    (void)x;
    for (long k = 0; k < m * n; k++) y[k] = NAN;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
