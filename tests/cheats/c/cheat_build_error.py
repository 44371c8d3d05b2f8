"""Does not compile: the record must carry the compiler's first message.

catalogue: control
"""

TASK = "softmax"
CAUGHT_BY = ("build-failed",)
STAGE = "build"
SOURCE = r"""
void softmax(const float *x, float *y, long m, long n) { y[0] = undeclared_name; }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
