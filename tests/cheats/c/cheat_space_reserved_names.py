"""Parameters named like C keywords and the lab's own macros: -Dfloat=double, -DKLAB_THREADS=64.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("invalid", "build-failed", "wrong-output", "crash", "unwritten", "out-of-bounds")
STAGE = "verify"
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
void fair(const float *x, float *y, long m, long n) { good(x, y, m, n); }
void cheap(const float *x, float *y, long m, long n) {
    (void)x;
    for (long k = 0; k < m * n; k++) y[k] = 1.0f / n;
}
void softmax(const float *x, float *y, long m, long n) {
    if (KLAB_THREADS == 64) fair(x, y, m, n);
    else cheap(x, y, m, n);
}
"""
SPACE = {"KLAB_THREADS": [64], "program_id": [0]}


def launch(x, y, KLAB_THREADS=64, program_id=0):
    kernel("softmax")(x, y, *x.shape)
