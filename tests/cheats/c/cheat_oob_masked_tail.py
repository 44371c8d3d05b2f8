"""Over-reads the row and blends the garbage away with a multiplication by zero: inf or NaN next door shows.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("out-of-bounds", "crash", "non-finite", "wrong-output", "unwritten")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    long full = (n + 15) / 16 * 16;
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < full; j++) sum += (float)(j < n) * expf(a[j] - top);
        for (long j = 0; j < n; j++) y[i * n + j] = expf(a[j] - top) / sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
