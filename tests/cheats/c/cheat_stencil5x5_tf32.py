"""The field is taken as TF32, as a tensor core would.

catalogue: 47
"""

TASK = "stencil5x5"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""

static inline float ten(float v) {  /* TF32: ten bits behind the first, to the nearest */
    union { float f; unsigned i; } u = {v};
    if ((u.i & 0x7f800000u) == 0x7f800000u) return v;
    u.i = (u.i + 0x1000u) & 0xffffe000u;
    return u.f;
}
static const float T[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
void stencil(const float *x, float *y, long h, long w, long c) {
    for (long i = 0; i < h; i++)
        for (long j = 0; j < w; j++)
            for (long k = 0; k < c; k++) {
                float s = 0;
                for (int p = 0; p < 5; p++)
                    for (int q = 0; q < 5; q++) {
                        long u = i + p - 2, v = j + q - 2;
                        if (u < 0 || u >= h || v < 0 || v >= w) continue;
                        float f = x[(u * w + v) * c + k], t = T[p] * T[q];
                        s += ten(f) * t;
                    }
                y[(i * w + j) * c + k] = s;
            }
}
"""
FLAGS = ["-O2", "-ffp-contract=off"]


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
