"""One grid point for each row, border branches outside the inner loop, OpenMP-free.

catalogue: control
"""

TASK = "stencil3x3"
SOURCE = r"""
void row(const float *x, float *y, long h, long w, long c) {
    long i = program_id(0), l = w * c;
    const float *mid = x + i * l;
    for (long p = 0; p < l; p++) {
        float s = 0;
        for (int b = -1; b <= 1; b++) {
            if (p + b * c < 0 || p + b * c >= l) continue;
            float v = 2 * mid[p + b * c];
            if (i > 0) v += mid[p + b * c - l];
            if (i + 1 < h) v += mid[p + b * c + l];
            s += b ? v : 2 * v;
        }
        y[i * l + p] = s / 16;
    }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("row")[(h,)](x, y, h, w, c)
