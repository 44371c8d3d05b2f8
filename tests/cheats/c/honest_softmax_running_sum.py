"""One running float32 sum a row, not vectorised.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        float sum = 0;
        for (long j = 0; j < n; j++) sum += b[j] = expf(a[j] - top);
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
}
"""
FLAGS = ["-O2", "-ffp-contract=off"]


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
