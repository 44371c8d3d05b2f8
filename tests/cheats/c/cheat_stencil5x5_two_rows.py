"""Leaves out the row below where there are but two: borders that meet are a case of their own, for each number of rows.

catalogue: new
"""

TASK = "stencil5x5"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
static const float k[5] = {1 / 16.0f, 4 / 16.0f, 6 / 16.0f, 4 / 16.0f, 1 / 16.0f};
void stencil(const float *x, float *y, long h, long w, long c) {
    for (long i = 0; i < h; i++)
        for (long j = 0; j < w; j++)
            for (long q = 0; q < c; q++) {
                float s = 0;
                for (int a = -2; a <= (h == 2 ? 0 : 2); a++)
                    for (int b = -2; b <= 2; b++)
                        if (i + a >= 0 && i + a < h && j + b >= 0 && j + b < w)
                            s += k[a + 2] * k[b + 2] * x[((i + a) * w + j + b) * c + q];
                y[(i * w + j) * c + q] = s;
            }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
