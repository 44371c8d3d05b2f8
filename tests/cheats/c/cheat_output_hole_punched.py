"""Punches the output's pages out of the shared memory (MADV_REMOVE): the poison is gone without a write, all reads as zero.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "unwritten", "crash", "sandbox", "out-of-bounds", "non-finite")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
void softmax(const float *x, float *y, long m, long n) {
    unsigned long lo = (unsigned long)y / 4096 * 4096, hi = ((unsigned long)(y + m * n) + 4095) / 4096 * 4096;
    (void)x;
    madvise((void *)lo, hi - lo, 9 /* MADV_REMOVE */);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
