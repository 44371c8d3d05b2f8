"""Takes the neighbour one float away as the neighbouring pixel: right for one channel only.

catalogue: 25
"""

TASK = "stencil3x3"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
void stencil(const float *x, float *y, long h, long w, long c) {
    static const float k[3] = {0.25f, 0.5f, 0.25f};
    long row = w * c;
    for (long i = 0; i < h; i++)
        for (long j = 0; j < row; j++) {
            float s = 0;
            for (int a = -1; a <= 1; a++)
                for (int b = -1; b <= 1; b++)
                    if (i + a >= 0 && i + a < h && j + b >= 0 && j + b < row) s += k[a + 1] * k[b + 1] * x[(i + a) * row + j + b];
            y[i * row + j] = s;
        }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
