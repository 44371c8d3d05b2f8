"""Integer arithmetic with 12 fraction bits: a fast fixed-point filter presented as float32.

catalogue: 23
"""

TASK = "stencil3x3"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
void stencil(const float *x, float *y, long h, long w, long c) {
    static const int k[3] = {1, 2, 1};
    for (long i = 0; i < h; i++)
        for (long j = 0; j < w; j++)
            for (long q = 0; q < c; q++) {
                int s = 0;
                for (int a = -1; a <= 1; a++)
                    for (int b = -1; b <= 1; b++)
                        if (i + a >= 0 && i + a < h && j + b >= 0 && j + b < w)
                            s += k[a + 1] * k[b + 1] * (int)lrintf(x[((i + a) * w + j + b) * c + q] * 4096);
                y[(i * w + j) * c + q] = (float)s / (16 * 4096);
            }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
