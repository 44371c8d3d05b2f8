"""A choice in SPACE carries compiler flags: right answer only if they reach the compiler.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("invalid", "build-failed", "wrong-output")
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
#include <string.h>
void softmax(const float *x, float *y, long m, long n) {
#ifdef INJECTED
    fair(x, y, m, n);
#else
    memset(y, 0, sizeof(float) * m * n);
#endif
}
"""
SPACE = {"MODE": ["a -DINJECTED=1", "b=1\n#define INJECTED 1\n"]}


def launch(x, y, MODE="a -DINJECTED=1"):
    kernel("softmax")(x, y, *x.shape)
