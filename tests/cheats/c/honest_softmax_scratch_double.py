"""Scratch of another type: double partial sums.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

void sums(const float *x, double *t, float *y, int m, int n) {
    for (int i = 0; i < m; i++) {
        const float *a = x + (long)i * n;
        float top = a[0];
        t[i] = 0;
        for (int j = 1; j < n; j++) top = a[j] > top ? a[j] : top;
        for (int j = 0; j < n; j++) t[i] += y[(long)i * n + j] = expf(a[j] - top);
    }
}
void divide(const double *t, float *y, int m, int n) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) y[(long)i * n + j] = (float)(y[(long)i * n + j] / t[i]);
}
"""


def launch(x, y):
    m, n = x.shape
    t = scratch((m,), "float64")
    kernel("sums")(x, t, y, m, n)
    kernel("divide")(t, y, m, n)
