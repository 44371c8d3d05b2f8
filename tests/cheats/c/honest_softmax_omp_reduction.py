"""An OpenMP reduction inside each row: with several threads the sum's last bits may differ from run to run.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY, sum = 0;
        #pragma omp parallel for reduction(max : top) if (n > 512)
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        #pragma omp parallel for reduction(+ : sum) if (n > 512)
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - top); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
