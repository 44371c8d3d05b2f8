"""OpenMP tasks of 32 rows each, made by one thread and run by all.

catalogue: control
"""

TASK = "softmax"
THREADS = 2
SOURCE = r"""
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
    #pragma omp parallel
    #pragma omp single
    for (long i = 0; i < m; i += 32) {
        #pragma omp task firstprivate(i)
        good(x + i * n, y + i * n, m - i < 32 ? m - i : 32, n);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
