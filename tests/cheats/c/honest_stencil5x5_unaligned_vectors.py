"""Vectors of four floats loaded and stored at any address, a scalar path for the rim.

catalogue: control
"""

TASK = "stencil5x5"
SOURCE = r"""
typedef float four __attribute__((vector_size(16), aligned(4)));
static const float t[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
static float scalar(const float *x, long h, long w, long c, long i, long j, long q) {
    float s = 0;
    for (long a = -2; a <= 2; a++)
        for (long b = -2; b <= 2; b++)
            if (i + a >= 0 && i + a < h && j + b >= 0 && j + b < w) s += t[a + 2] * t[b + 2] * x[((i + a) * w + j + b) * c + q];
    return s;
}
void stencil(const float *x, float *y, long h, long w, long c) {
    long l = w * c;
    for (long i = 0; i < h; i++) {
        long p = 0;
        int inside = i >= 2 && i + 2 < h;
        for (; p < l && (!inside || p < 2 * c); p++) y[i * l + p] = scalar(x, h, w, c, i, p / c, p % c);
        for (; p + 4 + 2 * c <= l; p += 4) {
            four s = {0, 0, 0, 0};
            for (long a = -2; a <= 2; a++) {
                const float *r = x + (i + a) * l + p;
                four u = t[0] * (*(const four *)(r - 2 * c) + *(const four *)(r + 2 * c))
                       + t[1] * (*(const four *)(r - c) + *(const four *)(r + c)) + t[2] * *(const four *)r;
                s += t[a + 2] * u;
            }
            *(four *)(y + i * l + p) = s;
        }
        for (; p < l; p++) y[i * l + p] = scalar(x, h, w, c, i, p / c, p % c);
    }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
