"""Compiles, but needs a symbol that nobody has.

catalogue: control
"""

TASK = "softmax"
CAUGHT_BY = ("build-failed", "crash", "lost-worker", "plan", "invalid")
STAGE = "verify"
SOURCE = r"""
extern float fast_softmax_from_nowhere(const float *, float *, long, long);
void softmax(const float *x, float *y, long m, long n) { fast_softmax_from_nowhere(x, y, m, n); }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
