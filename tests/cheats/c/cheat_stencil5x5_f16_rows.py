"""Separable passes with the row sums kept in half precision.

catalogue: 23
"""

TASK = "stencil5x5"
CAUGHT_BY = ("wrong-output", "build-failed")
STAGE = "verify"
SOURCE = r"""
#include <stdlib.h>
static const float k[5] = {1 / 16.0f, 4 / 16.0f, 6 / 16.0f, 4 / 16.0f, 1 / 16.0f};
void stencil(const float *x, float *y, long h, long w, long c) {
    _Float16 *t = malloc(sizeof(_Float16) * h * w * c);
    for (long i = 0; i < h; i++)
        for (long j = 0; j < w; j++)
            for (long q = 0; q < c; q++) {
                float s = 0;
                for (int b = -2; b <= 2; b++) if (j + b >= 0 && j + b < w) s += k[b + 2] * x[(i * w + j + b) * c + q];
                t[(i * w + j) * c + q] = (_Float16)s;
            }
    for (long i = 0; i < h; i++)
        for (long p = 0; p < w * c; p++) {
            float s = 0;
            for (int a = -2; a <= 2; a++) if (i + a >= 0 && i + a < h) s += k[a + 2] * (float)t[(i + a) * w * c + p];
            y[i * w * c + p] = s;
        }
    free(t);
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
