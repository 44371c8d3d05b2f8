"""Walks columns first and sums in double.

catalogue: control
"""

TASK = "stencil3x3"
SOURCE = r"""
static const float k[3] = {0.25f, 0.5f, 0.25f};

void stencil(const float *x, float *y, long h, long w, long c) {
    for (long j = 0; j < w; j++)
        for (long i = 0; i < h; i++)
            for (long q = 0; q < c; q++) {
                double s = 0;
                for (int a = -1; a <= 1; a++)
                    for (int b = -1; b <= 1; b++)
                        if (i + a >= 0 && i + a < h && j + b >= 0 && j + b < w) s += k[a + 1] * k[b + 1] * x[((i + a) * w + j + b) * c + q];
                y[(i * w + j) * c + q] = s;
            }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
