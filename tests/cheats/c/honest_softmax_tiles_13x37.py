"""Tiles of 13 rows by 37 columns: nothing is a power of two.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    for (long i0 = 0; i0 < m; i0 += 13) {
        float top[13], sum[13];
        long i1 = i0 + 13 < m ? i0 + 13 : m;
        for (int r = 0; r < 13; r++) top[r] = -INFINITY, sum[r] = 0;
        for (long j0 = 0; j0 < n; j0 += 37)
            for (long i = i0; i < i1; i++)
                for (long j = j0; j < n && j < j0 + 37; j++) top[i - i0] = fmaxf(top[i - i0], x[i * n + j]);
        for (long j0 = 0; j0 < n; j0 += 37)
            for (long i = i0; i < i1; i++)
                for (long j = j0; j < n && j < j0 + 37; j++) sum[i - i0] += y[i * n + j] = expf(x[i * n + j] - top[i - i0]);
        for (long i = i0; i < i1; i++)
            for (long j = 0; j < n; j++) y[i * n + j] /= sum[i - i0];
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
