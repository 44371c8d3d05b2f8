"""exp by range reduction and a polynomial of degree 3: right to 1e-4, passes a loose allclose.

catalogue: 22
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>
static inline float quick_exp(float v) {
    union { float f; int i; } u;
    if (v < -87) return 0;
    float t = v * 1.44269504f, k = floorf(t), f = t - k;
    u.i = ((int)k + 127) << 23;
    return u.f * (1.0f + f * (0.6956f + f * (0.2262f + f * 0.0782f)));
}
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) sum += b[j] = quick_exp(a[j] - top);
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
