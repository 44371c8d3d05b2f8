"""bfloat16 fields, three rows widened to float32 on the way, rounded once.

catalogue: control
"""

TASK = "stencil3x3_bf16"
SOURCE = r"""
#include <stdlib.h>
typedef unsigned short bf16;
static float wide(bf16 v) { union { unsigned i; float f; } u = {(unsigned)v << 16}; return u.f; }
static bf16 narrow(float v) {
    union { float f; unsigned i; } u = {v};
    return (bf16)((u.i + 0x7fff + (u.i >> 16 & 1)) >> 16);
}
void stencil(const bf16 *x, bf16 *y, long h, long w, long c) {
    long l = w * c;
    float *sum = malloc(l * sizeof(float));
    for (long i = 0; i < h; i++) {
        for (long p = 0; p < l; p++)
            sum[p] = 0.5f * wide(x[i * l + p]) + 0.25f * ((i ? wide(x[(i - 1) * l + p]) : 0)
                                                         + (i + 1 < h ? wide(x[(i + 1) * l + p]) : 0));
        for (long p = 0; p < l; p++)
            y[i * l + p] = narrow(0.5f * sum[p] + 0.25f * ((p >= c ? sum[p - c] : 0) + (p + c < l ? sum[p + c] : 0)));
    }
    free(sum);
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
