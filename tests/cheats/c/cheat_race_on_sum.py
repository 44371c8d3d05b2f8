"""All threads add to one sum without a reduction: right with one thread, a lottery with more.

catalogue: 26
"""

TASK = "softmax"
CAUGHT_BY = ("nondeterministic", "wrong-output", "non-finite")
STAGE = "verify"
THREADS = 2
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float top = -INFINITY;
        volatile float sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        #pragma omp parallel for num_threads(KLAB_THREADS)
        for (long j = 0; j < n; j++) { float e = expf(a[j] - top); y[i * n + j] = e; sum += e; }
        for (long j = 0; j < n; j++) y[i * n + j] /= sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
