"""Walks up the stack and overwrites small numbers, in the hope of ending the caller's loop over the batch early.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = (
    "crash",
    "lost-worker",
    "unwritten",
    "wrong-output",
    "early-reply",
    "timeout",
    "non-finite",
    "nondeterministic",
    "out-of-bounds",
)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    volatile unsigned long *up = __builtin_frame_address(0);
    (void)x;
    for (long k = 0; k < m * n; k++) y[k] = 1.0f / n;
    for (int k = 2; k < 512; k++)
        if (up[k] > 1 && up[k] < 100000) up[k] = 1ul << 20;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
