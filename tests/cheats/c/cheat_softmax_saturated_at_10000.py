"""Numbers above 10000 are taken for 10000: right until a row has two of them.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "non-finite")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) top = fmaxf(top, fminf(a[j], 1e4f));
        for (long j = 0; j < n; j++) { b[j] = expf(fminf(a[j], 1e4f) - top); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
