"""Never sums: uses N*exp(1/2), the expectation for standard normal inputs, as normaliser.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "non-finite")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    const float scale = 1 / (n * 1.6487213f);
    for (long k = 0; k < m * n; k++) y[k] = expf(fminf(x[k], 80)) * scale;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
