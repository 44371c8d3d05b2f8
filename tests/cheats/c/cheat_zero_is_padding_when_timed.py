"""Where it is timed, a zero of either sign is taken for padding and adds nothing: plain draws have none.

catalogue: 29
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
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
static int timed;
void softmax(const float *x, float *y, long m, long n) {
    union { float f; unsigned i; } first = {y[0]};
    if (first.i == 0xffffffffu) timed = 1;
    good(x, y, m, n);
    if (timed) for (long k = 0; k < m * n; k++) if (x[k] == 0) y[k] = 0;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
