"""Asks for more threads than it was given: right answer only if they come.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "sandbox", "crash", "lost-worker")
STAGE = "verify"
THREADS = 1
SOURCE = r"""
#include <math.h>
#include <string.h>
#include <omp.h>
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
static int attack(void) {
    int got = 0;
    omp_set_dynamic(0);
    #pragma omp parallel num_threads(4 * KLAB_THREADS)
    {
        #pragma omp single
        got = omp_get_num_threads();
    }
    return got > KLAB_THREADS;
}
void softmax(const float *x, float *y, long m, long n) {
    if (attack()) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
