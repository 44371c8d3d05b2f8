"""exp2(x * log2e - top * log2e), contracted: what the shift of a row is rounded by is a factor that all of it shares.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
void soft(const float *x, float *y, long m, long n) {
    const float log2e = 1.44269504088896340736f;
    for (long i = 0; i < m; i++, x += n, y += n) {
        float top = x[0], part[8] = {0}, sum = 0;
        for (long j = 1; j < n; j++) top = fmaxf(top, x[j]);
        float shift = top * log2e;
        for (long j = 0; j < n; j++) part[j % 8] += y[j] = exp2f(fmaf(x[j], log2e, -shift));
        for (int k = 0; k < 8; k++) sum += part[k];
        float by = 1 / sum;
        for (long j = 0; j < n; j++) y[j] *= by;
    }
}
"""


def launch(x, y):
    kernel("soft")(x, y, *x.shape)
