"""Calls abort().

catalogue: 32
"""

TASK = "softmax"
CAUGHT_BY = ("crash",)
STAGE = "verify"
SOURCE = r"""
#include <stdlib.h>
void softmax(const float *x, float *y, long m, long n) { (void)x, (void)y, (void)m, (void)n; abort(); }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
