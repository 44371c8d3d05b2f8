"""SOURCE is not a string but an object that changes each time it is read.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("build-failed", "invalid", "wrong-output")
STAGE = "verify"


class Shifty(str):
    reads = 0

    def __str__(self):
        Shifty.reads += 1
        return "void softmax(const float *x, float *y, long m, long n) { y[0] = %d; }" % Shifty.reads

    encode = None


SOURCE = Shifty("void softmax(const float *x, float *y, long m, long n) { (void)x, (void)m, (void)n; y[0] = 0; }")


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
