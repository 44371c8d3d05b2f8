"""bfloat16 in and out, as asked, and eight running sums in bfloat16 too: small terms get lost.

catalogue: new
"""

TASK = "softmax_bf16"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
typedef unsigned short bf16;
static float wide(bf16 v) { union { unsigned i; float f; } u = {(unsigned)v << 16}; return u.f; }
static bf16 narrow(float v) {
    union { float f; unsigned i; } u = {v};
    return (bf16)((u.i + 0x7fff + (u.i >> 16 & 1)) >> 16);
}
void softmax(const bf16 *x, bf16 *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const bf16 *a = x + i * n;
        float top = -INFINITY, sum = 0;
        bf16 lane[8] = {0};
        for (long j = 0; j < n; j++) top = fmaxf(top, wide(a[j]));
        for (long j = 0; j < n; j++) lane[j % 8] = narrow(wide(lane[j % 8]) + expf(wide(a[j]) - top));
        for (int l = 0; l < 8; l++) sum += wide(lane[l]);
        for (long j = 0; j < n; j++) y[i * n + j] = narrow(expf(wide(a[j]) - top) / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
