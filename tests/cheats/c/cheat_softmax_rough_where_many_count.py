"""Exponentials of eighteen bits in rows in which many terms count, exact ones elsewhere: what the sum may lose is spent twice.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>

static inline float rough(float v) {  /* eighteen bits, to the nearest */
    union { float f; unsigned i; } u = {v};
    u.i = (u.i + 0x10u) & 0xffffffe0u;
    return u.f;
}
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0, squares = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - top); sum += b[j]; squares += (double)b[j] * b[j]; }
        int many = sum * sum > 300 * squares;
        for (long j = 0; j < n; j++) { float v = (float)(b[j] / sum); b[j] = many ? rough(v) : v; }
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
