"""Calls a vendor library found with dlopen (BLAS, torch, numpy's own loops) in place of a kernel; without one it gives zeros.

catalogue: 27
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "sandbox", "crash", "build-failed", "harmless")
STAGE = "verify"
HARMLESS = True
SOURCE = r"""
#include <dlfcn.h>
#include <math.h>
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
    static const char *name[] = {"libopenblas.so.0", "libblas.so.3", "libmkl_rt.so", "libtorch_cpu.so"};
    int hit = 0;
    for (int k = 0; k < 4; k++) hit |= dlopen(name[k], RTLD_NOW) != 0;
    if (hit) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
