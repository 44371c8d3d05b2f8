"""The vertical pass goes into the output, the horizontal one over it in place, with four old values in hand.

catalogue: control
"""

TASK = "stencil5x5"
SOURCE = r"""
void stencil(const float *x, float *y, long h, long w, long c) {
    static const float t[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
    long l = w * c;
    for (long i = 0; i < h; i++)
        for (long p = 0; p < l; p++) {
            float s = 0;
            for (long a = -2; a <= 2; a++) if (i + a >= 0 && i + a < h) s += t[a + 2] * x[(i + a) * l + p];
            y[i * l + p] = s;
        }
    for (long i = 0; i < h; i++)
        for (long q = 0; q < c; q++) {
            float *r = y + i * l + q, far = 0, near = 0;
            for (long j = 0; j < w; j++) {
                float here = r[j * c], next = j + 1 < w ? r[(j + 1) * c] : 0, last = j + 2 < w ? r[(j + 2) * c] : 0;
                r[j * c] = t[0] * (far + last) + t[1] * (near + next) + t[2] * here;
                far = near, near = here;
            }
        }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
