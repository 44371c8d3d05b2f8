"""Two columns at a time as one complex number.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <complex.h>
#include <math.h>
#include <stdlib.h>
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
    for (long i = 0; i < m; i++) {
        float top = -INFINITY;
        double complex sum = 0;
        for (long j = 0; j < n; j++) top = x[i * n + j] > top ? x[i * n + j] : top;
        for (long j = 0; j < n; j += 2) {
            double re = exp((double)x[i * n + j] - top), im = j + 1 < n ? exp((double)x[i * n + j + 1] - top) : 0;
            sum += re + im * I;
        }
        double all = creal(sum) + cimag(sum);
        for (long j = 0; j < n; j++) y[i * n + j] = (float)(exp((double)x[i * n + j] - top) / all);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
