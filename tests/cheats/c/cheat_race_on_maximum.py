"""Two threads look for a row's maximum and share it without a lock: right unless both write at once.

catalogue: new
"""

TASK = "softmax"
THREADS = 2
CAUGHT_BY = ("wrong-output", "nondeterministic", "static-memory")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
static volatile float top;
static void step(float v) { if (v > top) { for (volatile int k = 0; k < 3; k++) { } top = v; } }
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n;
        double sum = 0;
        top = -INFINITY;
        #pragma omp parallel for num_threads(2) schedule(static, 1)
        for (long j = 0; j < n; j++) step(a[j]);
        float t = top;
        for (long j = 0; j < n; j++) { b[j] = a[j] > t ? 1 : expf(a[j] - t); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
