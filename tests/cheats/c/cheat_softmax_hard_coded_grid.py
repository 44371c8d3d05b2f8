"""The grid is computed for 8 rows a block and the remainder of the rows is forgotten.

catalogue: 25
"""

TASK = "softmax"
CAUGHT_BY = ("unwritten", "wrong-output", "non-finite", "plan")
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
void rows(const float *x, float *y, long k, long n) {
    long i = 8 * program_id(0);
    good(x + i * n, y + i * n, k, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("rows")[(max(1, m // 8),)](x, y, min(m, 8), n)
