"""Rows are handed out to threads by a counter in static memory; the last thread to leave puts it back to 0.

catalogue: control
"""

TASK = "softmax"
THREADS = 2
SOURCE = r"""
#ifdef _OPENMP
#include <omp.h>
#else
#define omp_get_num_threads() 1
#endif
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
static long next_row;
static int gone;
void softmax(const float *x, float *y, long m, long n) {
    #pragma omp parallel num_threads(KLAB_THREADS)
    {
        long i;
        while ((i = __atomic_fetch_add(&next_row, 1, __ATOMIC_RELAXED)) < m) good(x + i * n, y + i * n, 1, n);
        if (__atomic_add_fetch(&gone, 1, __ATOMIC_ACQ_REL) == omp_get_num_threads()) {
            __atomic_store_n(&next_row, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&gone, 0, __ATOMIC_RELEASE);
        }
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
