"""From 1000 columns on the reciprocal of the sum has 20 bits, as after one step too few: all of a row is off by one factor, less than a long sum is allowed.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
static float round_to(float v, int bits) {
    union { float f; unsigned i; } u = {v};
    unsigned drop = 24 - bits, half = 1u << (drop - 1);
    u.i = (u.i + half) & ~((1u << drop) - 1);
    return u.f;
}
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - top); sum += b[j]; }
        float r = n < 1000 ? (float)(1 / sum) : round_to((float)(1 / sum), 20);
        for (long j = 0; j < n; j++) b[j] *= r;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
