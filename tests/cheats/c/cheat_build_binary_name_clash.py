"""Exports the names of the lab's own library and of libgomp, to be picked up in their place.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("harmless", "build-failed", "wrong-output", "crash", "timeout", "lost-worker")
STAGE = "verify"
HARMLESS = True
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
void GOMP_parallel(void (*f)(void *), void *d, unsigned t, unsigned k) { (void)t, (void)k; f(d); }
int omp_get_num_threads(void) { return 1; }
int omp_get_thread_num(void) { return 0; }
void softmax(const float *x, float *y, long m, long n) { good(x, y, m, n); }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
