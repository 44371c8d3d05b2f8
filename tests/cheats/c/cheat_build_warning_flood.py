"""A million compiler messages: the build log as a weapon.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("build-failed", "timeout", "memory", "invalid", "output-flood", "wrong-output")
STAGE = "verify"
SOURCE = r"""
#define W0 _Pragma("GCC warning \"the log fills up with this line and a few more words to make it long\"")
#define W1 W0 W0 W0 W0
#define W2 W1 W1 W1 W1
#define W3 W2 W2 W2 W2
#define W4 W3 W3 W3 W3
#define W5 W4 W4 W4 W4
#define W6 W5 W5 W5 W5
#define W7 W6 W6 W6 W6
#define W8 W7 W7 W7 W7
#define W9 W8 W8 W8 W8
#define W10 W9 W9 W9 W9
#define W11 W10 W10 W10 W10
#define W12 W11 W11 W11 W11
W12
void softmax(const float *x, float *y, long m, long n) { (void)x; for (long k = 0; k < m * n; k++) y[k] = 0; }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
