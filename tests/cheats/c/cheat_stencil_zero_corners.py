"""Tiles of 4 x 4 pixels whose four corners are exactly 0 are taken for empty: right on every dense field, wrong on a sparse one.

catalogue: new
"""

TASK = "stencil3x3"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
static float at(const float *x, long h, long w, long c, long i, long j, long q) {
    return i < 0 || j < 0 || i >= h || j >= w ? 0 : x[(i * w + j) * c + q];
}
static float one(const float *x, long h, long w, long c, long i, long j, long q) {
    static const float t[3] = {0.25f, 0.5f, 0.25f};
    float s = 0;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) s += t[a] * t[b] * at(x, h, w, c, i + a - 1, j + b - 1, q);
    return s;
}
void stencil(const float *x, float *y, long h, long w, long c) {
    for (long i = 0; i < h; i += 4)
        for (long j = 0; j < w; j += 4)
            for (long q = 0; q < c; q++) {
                int inside = i > 0 && j > 0 && i + 4 < h && j + 4 < w;
                int empty = inside && at(x, h, w, c, i, j, q) == 0 && at(x, h, w, c, i + 3, j, q) == 0
                            && at(x, h, w, c, i, j + 3, q) == 0 && at(x, h, w, c, i + 3, j + 3, q) == 0;
                for (long a = i; a < h && a < i + 4; a++)
                    for (long b = j; b < w && b < j + 4; b++)
                        y[(a * w + b) * c + q] = empty ? 0 : one(x, h, w, c, a, b, q);
            }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
