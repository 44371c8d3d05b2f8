"""From 1000 columns on the sum takes its terms rounded to 13 bits: a long sum of random inputs averages the errors away.

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
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - top); sum += n < 1000 ? b[j] : round_to(b[j], 13); }
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
