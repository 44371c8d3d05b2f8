"""bfloat16 in and out, and bfloat16 between the two passes as well: two roundings for one.

catalogue: new
"""

TASK = "stencil3x3_bf16"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
typedef unsigned short bf16;
static float wide(bf16 v) { union { unsigned i; float f; } u = {(unsigned)v << 16}; return u.f; }
static bf16 narrow(float v) {
    union { float f; unsigned i; } u = {v};
    return (bf16)((u.i + 0x7fff + (u.i >> 16 & 1)) >> 16);
}
void stencil(const bf16 *x, bf16 *y, bf16 *t, long h, long w, long c) {
    long l = w * c;
    for (long i = 0; i < h; i++)
        for (long p = 0; p < l; p++)
            t[i * l + p] = narrow(0.5f * wide(x[i * l + p]) + 0.25f * ((i ? wide(x[(i - 1) * l + p]) : 0)
                                                                     + (i + 1 < h ? wide(x[(i + 1) * l + p]) : 0)));
    for (long i = 0; i < h; i++)
        for (long p = 0; p < l; p++)
            y[i * l + p] = narrow(0.5f * wide(t[i * l + p]) + 0.25f * ((p >= c ? wide(t[i * l + p - c]) : 0)
                                                                     + (p + c < l ? wide(t[i * l + p + c]) : 0)));
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, scratch(x.shape, "bfloat16"), h, w, c)
