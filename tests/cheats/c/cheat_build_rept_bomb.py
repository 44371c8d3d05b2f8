"""An assembler loop of 10^12 instructions.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("build-failed", "timeout", "memory", "invalid", "output-flood")
STAGE = "build"
SOURCE = r"""
void softmax(const float *x, float *y, long m, long n) {
    (void)x, (void)y, (void)m, (void)n;
    __asm__(".rept 1000000\n.rept 1000000\nnop\n.endr\n.endr");
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
