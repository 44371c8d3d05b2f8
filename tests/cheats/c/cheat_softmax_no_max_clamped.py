"""Does not subtract the maximum but clamps at 80, so that nothing is ever non-finite.

catalogue: 20
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "non-finite")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        double sum = 0;
        for (long j = 0; j < n; j++) sum += y[i * n + j] = expf(fminf(x[i * n + j], 80));
        for (long j = 0; j < n; j++) y[i * n + j] = (float)(y[i * n + j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
