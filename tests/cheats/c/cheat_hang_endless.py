"""An endless loop.

catalogue: 32
"""

TASK = "softmax"
CAUGHT_BY = ("timeout",)
STAGE = "verify"
SOURCE = r"""
void softmax(const float *x, float *y, long m, long n) { (void)x, (void)m, (void)n; for (;;) *(volatile float *)y = 1; }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
