"""Copies into a zero-padded scratch image first: no branches in the filter.

catalogue: control
"""

TASK = "stencil3x3"
SOURCE = r"""
void pad(const float *x, float *t, long h, long w, long c) {
    for (long k = 0; k < (h + 2) * (w + 2) * c; k++) t[k] = 0;
    for (long i = 0; i < h; i++)
        for (long p = 0; p < w * c; p++) t[(i + 1) * (w + 2) * c + c + p] = x[i * w * c + p];
}
void filter(const float *t, float *y, long h, long w, long c) {
    long l = (w + 2) * c;
    for (long i = 0; i < h; i++)
        for (long p = 0; p < w * c; p++) {
            const float *a = t + i * l + p;
            y[i * w * c + p] = (a[0] + 2 * a[c] + a[2 * c] + 2 * (a[l] + 2 * a[l + c] + a[l + 2 * c]) + a[2 * l] + 2 * a[2 * l + c] + a[2 * l + 2 * c]) * 0.0625f;
        }
}
"""


def launch(x, y):
    h, w, c = x.shape
    t = scratch((h + 2, w + 2, c))
    kernel("pad")(x, t, h, w, c)
    kernel("filter")(t, y, h, w, c)
