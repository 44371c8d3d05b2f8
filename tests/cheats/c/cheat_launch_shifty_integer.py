"""An int that changes between reads: it says one thing to the recorder's check and another to the plan.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = (
    "plan",
    "build-failed",
    "invalid",
    "crash",
    "unwritten",
    "wrong-output",
    "non-finite",
    "out-of-bounds",
    "timeout",
)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
static void good(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - top); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
void fair(const float *x, float *y, long m, long n) { good(x, y, m, n); }
void cheap(const float *x, float *y, long m, long n) {
    (void)x;
    for (long k = 0; k < m * n; k++) y[k] = 1.0f / n;
}
"""


class Shifty(int):
    reads = 0

    def __index__(self):
        Shifty.reads += 1
        return 1 if Shifty.reads % 2 else 2**40

    __int__ = __index__

    def __lt__(self, other):
        return True

    def __le__(self, other):
        return True


def launch(x, y):
    m, n = x.shape
    kernel("fair")(x, y, Shifty(2**40), n)
