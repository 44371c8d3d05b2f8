"""exp(x - logsumexp): one exponential for the sum, one for the output.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
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
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n; float *b = y + i * n, top = -INFINITY; double sum = 0;
        for (long j = 0; j < n; j++) top = fmaxf(top, a[j]);
        for (long j = 0; j < n; j++) sum += exp((double)a[j] - top);
        double all = top + log(sum);
        for (long j = 0; j < n; j++) b[j] = (float)exp(a[j] - all);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
