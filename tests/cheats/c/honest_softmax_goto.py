"""Written with goto, as a translator from another language would.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const float *x, float *y, long m, long n) {
    long i = 0, j;
    float top, sum;
row:
    if (i >= m) goto end;
    j = 0, top = -INFINITY, sum = 0;
top_:
    if (j >= n) goto exps;
    if (x[i * n + j] > top) top = x[i * n + j];
    j++;
    goto top_;
exps:
    j = 0;
exp_:
    if (j >= n) goto divide;
    sum += y[i * n + j] = expf(x[i * n + j] - top);
    j++;
    goto exp_;
divide:
    j = 0;
div_:
    if (j >= n) { i++; goto row; }
    y[i * n + j] /= sum;
    j++;
    goto div_;
end:
    return;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
