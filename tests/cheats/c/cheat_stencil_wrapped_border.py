"""Wraps round in place of zero padding.

catalogue: 24
"""

TASK = "stencil3x3"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
static long in(long v, long top) { return (v + top) % top; }
void stencil(const float *x, float *y, long h, long w, long c) {
    static const float k[3] = {0.25f, 0.5f, 0.25f};
    for (long i = 0; i < h; i++)
        for (long j = 0; j < w; j++)
            for (long q = 0; q < c; q++) {
                float s = 0;
                for (int a = -1; a <= 1; a++)
                    for (int b = -1; b <= 1; b++) s += k[a + 1] * k[b + 1] * x[(in(i + a, h) * w + in(j + b, w)) * c + q];
                y[(i * w + j) * c + q] = s;
            }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
