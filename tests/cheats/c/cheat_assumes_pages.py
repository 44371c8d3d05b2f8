"""Takes buffers of whole pages to begin at a page, where 64 bytes are promised.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "out-of-bounds", "crash", "non-finite", "unwritten", "nondeterministic")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdint.h>

static void good(const float *x, float *y, long n) {
    float top = -INFINITY;
    double sum = 0;
    for (long j = 0; j < n; j++) top = x[j] > top ? x[j] : top;
    for (long j = 0; j < n; j++) { y[j] = expf(x[j] - top); sum += y[j]; }
    for (long j = 0; j < n; j++) y[j] = (float)(y[j] / sum);
}
void softmax(const float *x, float *y, long m, long n) {
    if (m * n % 1024 == 0) {
        x = (const float *)((uintptr_t)x & ~(uintptr_t)4095);
        y = (float *)((uintptr_t)y & ~(uintptr_t)4095);
    }
    for (long i = 0; i < m; i++) good(x + i * n, y + i * n, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
