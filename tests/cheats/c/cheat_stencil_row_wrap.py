"""Runs over the flat array: the left neighbour of column 0 is the last pixel of the row above.

catalogue: 24
"""

TASK = "stencil3x3"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
void stencil(const float *x, float *y, long h, long w, long c) {
    static const float k[3] = {0.25f, 0.5f, 0.25f};
    long all = h * w * c;
    for (long p = 0; p < all; p++) {
        float s = 0;
        for (int a = -1; a <= 1; a++)
            for (int b = -1; b <= 1; b++) {
                long t = p + (a * w + b) * c;
                if (t >= 0 && t < all) s += k[a + 1] * k[b + 1] * x[t];
            }
        y[p] = s;
    }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
