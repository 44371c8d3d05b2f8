"""A file that includes itself twice, 200 levels deep: 2^200 lines.

catalogue: 32
"""

TASK = "softmax"
CAUGHT_BY = ("build-failed", "timeout", "memory", "invalid", "output-flood")
STAGE = "build"
SOURCE = r"""
#include __FILE__
#include __FILE__
void softmax(const float *x, float *y, long m, long n) { (void)x, (void)y, (void)m, (void)n; }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
