"""madvise(MADV_REMOVE) on the input frees the shared pages: the input reads as zeros on both sides.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("input-written", "wrong-output", "crash", "sandbox")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
void softmax(const float *x, float *y, long m, long n) {
    unsigned long lo = (unsigned long)x / 4096 * 4096, hi = ((unsigned long)(x + m * n) + 4095) / 4096 * 4096;
    int bad = madvise((void *)lo, hi - lo, 9 /* MADV_REMOVE */);
    for (long k = 0; k < m * n; k++) y[k] = bad ? 0 : 1.0f / n;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
