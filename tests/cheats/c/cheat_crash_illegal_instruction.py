"""Executes an illegal instruction, as a kernel built for another machine does.

catalogue: 32
"""

TASK = "softmax"
CAUGHT_BY = ("crash",)
STAGE = "verify"
SOURCE = r"""
void softmax(const float *x, float *y, long m, long n) { (void)x, (void)y, (void)m, (void)n; __builtin_trap(); }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
