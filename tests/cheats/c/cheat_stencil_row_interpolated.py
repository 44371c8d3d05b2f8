"""Computes every second row and averages the rows between.

catalogue: new
"""

TASK = "stencil3x3"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
static void row(const float *x, float *y, long i, long h, long w, long c) {
    static const float k[3] = {0.25f, 0.5f, 0.25f};
    for (long j = 0; j < w; j++)
        for (long q = 0; q < c; q++) {
            float s = 0;
            for (int a = -1; a <= 1; a++)
                for (int b = -1; b <= 1; b++)
                    if (i + a >= 0 && i + a < h && j + b >= 0 && j + b < w) s += k[a + 1] * k[b + 1] * x[((i + a) * w + j + b) * c + q];
            y[(i * w + j) * c + q] = s;
        }
}
void stencil(const float *x, float *y, long h, long w, long c) {
    for (long i = 0; i < h; i += 2) row(x, y, i, h, w, c);
    if (h % 2 == 0) row(x, y, h - 1, h, w, c);
    for (long i = 1; i + 1 < h; i += 2)
        for (long p = 0; p < w * c; p++) y[i * w * c + p] = 0.5f * (y[(i - 1) * w * c + p] + y[(i + 1) * w * c + p]);
    if (h == 1) for (long p = 0; p < w * c; p++) y[p] = x[p] * 0.5f;
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
