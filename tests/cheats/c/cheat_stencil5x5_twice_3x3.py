"""3x3 applied twice: exact inside (1,2,1 convolved with itself is 1,4,6,4,1), wrong on the border alone.

catalogue: 24
"""

TASK = "stencil5x5"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
void pass3(const float *x, float *y, long h, long w, long c) {
    static const float k[3] = {0.25f, 0.5f, 0.25f};
    for (long i = 0; i < h; i++)
        for (long j = 0; j < w; j++)
            for (long q = 0; q < c; q++) {
                float s = 0;
                for (int a = -1; a <= 1; a++)
                    for (int b = -1; b <= 1; b++)
                        if (i + a >= 0 && i + a < h && j + b >= 0 && j + b < w) s += k[a + 1] * k[b + 1] * x[((i + a) * w + j + b) * c + q];
                y[(i * w + j) * c + q] = s;
            }
}
"""


def launch(x, y):
    h, w, c = x.shape
    t = scratch(x.shape)
    kernel("pass3")(x, t, h, w, c)
    kernel("pass3")(t, y, h, w, c)
