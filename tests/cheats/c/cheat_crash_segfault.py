"""Writes through a null pointer.

catalogue: 32
"""

TASK = "softmax"
CAUGHT_BY = ("crash",)
STAGE = "verify"
SOURCE = r"""
void softmax(const float *x, float *y, long m, long n) { (void)x, (void)y, (void)m; *(volatile float *)(n * 0) = 1; }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
