"""Computes the interior and leaves the border alone.

catalogue: 24
"""

TASK = "stencil3x3"
CAUGHT_BY = ("unwritten", "wrong-output", "non-finite")
STAGE = "verify"
SOURCE = r"""
void stencil(const float *x, float *y, long h, long w, long c) {
    static const float k[3] = {0.25f, 0.5f, 0.25f};
    for (long i = 1; i + 1 < h; i++)
        for (long j = 1; j + 1 < w; j++)
            for (long q = 0; q < c; q++) {
                float s = 0;
                for (int a = -1; a <= 1; a++)
                    for (int b = -1; b <= 1; b++) s += k[a + 1] * k[b + 1] * x[((i + a) * w + j + b) * c + q];
                y[(i * w + j) * c + q] = s;
            }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
