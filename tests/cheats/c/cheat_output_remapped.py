"""Maps private pages over its output and fills those: right if the child is asked, nothing arrives at the parent.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("unwritten", "wrong-output", "crash", "sandbox", "non-finite", "nondeterministic", "out-of-bounds")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
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
    unsigned long lo = (unsigned long)y / 4096 * 4096, hi = ((unsigned long)(y + m * n) + 4095) / 4096 * 4096;
    void *got = mmap((void *)lo, hi - lo, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (got != MAP_FAILED) good(x, y, m, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
