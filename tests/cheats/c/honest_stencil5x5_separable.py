"""Rows into scratch, then columns.

catalogue: control
"""

TASK = "stencil5x5"
SOURCE = r"""
static const float k[5] = {1 / 16.0f, 4 / 16.0f, 6 / 16.0f, 4 / 16.0f, 1 / 16.0f};

void across(const float *x, float *t, long h, long w, long c) {
    for (long i = 0; i < h; i++)
        for (long j = 0; j < w; j++)
            for (long q = 0; q < c; q++) {
                float s = 0;
                for (int b = -2; b <= 2; b++) if (j + b >= 0 && j + b < w) s += k[b + 2] * x[(i * w + j + b) * c + q];
                t[(i * w + j) * c + q] = s;
            }
}
void down(const float *t, float *y, long h, long l) {
    for (long i = 0; i < h; i++)
        for (long p = 0; p < l; p++) {
            float s = 0;
            for (int a = -2; a <= 2; a++) if (i + a >= 0 && i + a < h) s += k[a + 2] * t[(i + a) * l + p];
            y[i * l + p] = s;
        }
}
"""


def launch(x, y):
    h, w, c = x.shape
    t = scratch(x.shape)
    kernel("across")(x, t, h, w, c)
    kernel("down")(t, y, h, w * c)
