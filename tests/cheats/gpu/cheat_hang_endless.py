"""Never ends.

Defeated by: a time-out that kills the runner.

catalogue: 32
"""

TASK = "softmax"
CAUGHT_BY = ("timeout", "lost-worker")
STAGE = "run"
SOURCE = r"""
extern "C" __global__ void softmax(const float *x, float *y, int m, int n) {
    volatile float *b = y;
    while (b[0] != 2.0f) b[0] = 1.0f;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")[m, 256](x, y, m, n)
