"""Copies the input to the output.

catalogue: 18
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) { memcpy(y, x, sizeof(float) * m * n); }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
