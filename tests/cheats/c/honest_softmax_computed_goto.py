"""A small interpreter with computed goto runs the three passes of a row.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
void softmax(const float *x, float *y, long m, long n) {
    static const char program[4] = {0, 1, 2, 3};
    static const void *const step[4] = {&&largest, &&powers, &&scaled, &&next};
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        const char *at = program;
        goto *step[(int)*at++];
    largest:
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        goto *step[(int)*at++];
    powers:
        for (long j = 0; j < n; j++) sum += b[j] = expf(a[j] - top);
        goto *step[(int)*at++];
    scaled:
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
        goto *step[(int)*at++];
    next:;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
