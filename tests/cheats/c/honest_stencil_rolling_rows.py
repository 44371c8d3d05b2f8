"""Keeps three filtered rows in a rolling buffer.

catalogue: control
"""

TASK = "stencil3x3"
SOURCE = r"""
#include <stdlib.h>

static void filter(const float *a, float *t, long w, long c) {
    for (long p = 0; p < w * c; p++)
        t[p] = 0.5f * a[p] + 0.25f * ((p >= c ? a[p - c] : 0) + (p + c < w * c ? a[p + c] : 0));
}
void stencil(const float *x, float *y, long h, long w, long c) {
    long l = w * c;
    float *t = calloc(3 * l, sizeof(float)), *up = t, *mid = t + l, *low = t + 2 * l;
    filter(x, mid, w, c);
    for (long i = 0; i < h; i++) {
        if (i + 1 < h) filter(x + (i + 1) * l, low, w, c);
        else for (long p = 0; p < l; p++) low[p] = 0;
        for (long p = 0; p < l; p++) y[i * l + p] = 0.5f * mid[p] + 0.25f * (up[p] + low[p]);
        float *old = up;
        up = mid, mid = low, low = old;
    }
    free(t);
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
