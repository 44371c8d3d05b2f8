"""Maximum and sum by recursion, rows by recursion.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

static float top_of(const float *a, long n) {
    if (n == 1) return a[0];
    float l = top_of(a, n / 2), r = top_of(a + n / 2, n - n / 2);
    return l > r ? l : r;
}
static float exps(const float *a, float *b, long n, float top) {
    if (n == 1) return b[0] = expf(a[0] - top);
    return exps(a, b, n / 2, top) + exps(a + n / 2, b + n / 2, n - n / 2, top);
}
void softmax(const float *x, float *y, long m, long n) {
    if (m > 1) { softmax(x, y, m / 2, n); softmax(x + m / 2 * n, y + m / 2 * n, m - m / 2, n); return; }
    float sum = exps(x, y, n, top_of(x, n));
    for (long j = 0; j < n; j++) y[j] /= sum;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
