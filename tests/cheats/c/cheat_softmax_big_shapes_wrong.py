"""Right but slow on small shapes, skips every 61st row of the interior on big ones, where checking is dear.

catalogue: 29
"""

TASK = "softmax"
CAUGHT_BY = ("unwritten", "wrong-output", "non-finite")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
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
    if (m * n < 100000) { good(x, y, m, n); return; }
    for (long i = 0; i < m; i++)
        if (i % 61 != 30) good(x + i * n, y + i * n, 1, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
