"""Flags that hide every symbol from the loader (-fvisibility=hidden, -fwhole-program): an honest mistake, must end with a reason.

catalogue: control
"""

TASK = "softmax"
CAUGHT_BY = ("build-failed", "invalid", "crash", "lost-worker", "plan", "harmless")
STAGE = "verify"
HARMLESS = True
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
void softmax(const float *x, float *y, long m, long n) { good(x, y, m, n); }
"""
FLAGS = ["-O2", "-fvisibility=hidden", "-fwhole-program"]


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
