"""Products of the taps rounded to 11 bits, as TF32 does, summed in float32.

catalogue: new
"""

TASK = "stencil5x5"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
static float round_to(float v, int bits) {
    union { float f; unsigned i; } u = {v};
    unsigned drop = 24 - bits, half = 1u << (drop - 1);
    u.i = (u.i + half) & ~((1u << drop) - 1);
    return u.f;
}
void stencil(const float *x, float *y, long h, long w, long c) {
    static const float t[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
    for (long i = 0; i < h; i++)
        for (long j = 0; j < w; j++)
            for (long q = 0; q < c; q++) {
                float s = 0;
                for (int a = -2; a <= 2; a++)
                    for (int b = -2; b <= 2; b++)
                        if (i + a >= 0 && i + a < h && j + b >= 0 && j + b < w)
                            s += t[a + 2] * t[b + 2] * round_to(x[((i + a) * w + j + b) * c + q], 11);
                y[(i * w + j) * c + q] = s;
            }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
