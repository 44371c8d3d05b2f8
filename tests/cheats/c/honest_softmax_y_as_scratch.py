"""Uses the output as work space: maxima and sums pass through it before the answer does.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    for (long k = 0; k < m * n; k++) y[k] = x[k];
    for (long i = 0; i < m; i++) {
        float *b = y + i * n;
        for (long j = 1; j < n; j++) b[0] = b[j] > b[0] ? b[j] : b[0];
        float top = b[0], sum = 0;
        for (long j = 0; j < n; j++) sum += b[j] = expf(x[i * n + j] - top);
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
