"""One scratch row per step, used again by the next step for something else.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

void tops(const float *x, float *t, long m, long n) {
    for (long i = 0; i < m; i++) {
        t[i] = x[i * n];
        for (long j = 1; j < n; j++) t[i] = x[i * n + j] > t[i] ? x[i * n + j] : t[i];
    }
}
void exps(const float *x, float *t, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        float top = t[i], sum = 0;
        for (long j = 0; j < n; j++) sum += y[i * n + j] = expf(x[i * n + j] - top);
        t[i] = sum;
    }
}
void divide(const float *t, float *y, long m, long n) {
    for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++) y[i * n + j] /= t[i];
}
"""


def launch(x, y):
    m, n = x.shape
    t = scratch((m,))
    kernel("tops")(x, t, m, n)
    kernel("exps")(x, t, y, m, n)
    kernel("divide")(t, y, m, n)
