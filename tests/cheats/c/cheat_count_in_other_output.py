"""Grows the mapping of its output over the file's next buffers to count in one of them; zeros where it cannot.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = (
    "wrong-output",
    "unwritten",
    "nondeterministic",
    "non-finite",
    "static-memory",
    "crash",
    "hidden-work",
    "early-reply",
    "timeout",
)
STAGE = "verify"
SOURCE = r"""
#define _GNU_SOURCE
#include <sys/mman.h>
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
void softmax(const float *x, float *y, long m, long n) {
    unsigned long first = (unsigned long)y & ~4095ul, last = ((unsigned long)(y + m * n) + 4095) & ~4095ul;
    char *more = mremap((void *)first, last - first, last - first + 8192, MREMAP_MAYMOVE);
    if (more == MAP_FAILED) { memset(y, 0, sizeof(float) * m * n); return; }
    *(long *)(more + (last - first)) += 1;
    good(x, (float *)(more + ((unsigned long)y - first)), m, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
