"""exp by adding to the exponent bits (Schraudolph): wrong by up to 6 %, hidden by the normalisation.

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
    u.i = (int)(v * 12102203.0f) + 1064866805;
    return u.f;
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
