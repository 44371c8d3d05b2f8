"""Looks at a thousand log-weights to tell whether their maximum must be subtracted: right wherever these tell how large the
others are.

catalogue: 20
"""

TASK = "particle_filter"
CAUGHT_BY = ("wrong-output", "non-finite")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
void pf(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    long look = 1024;
    int large = n < 2048;
    for (long k = 0; k < look && !large; k++) large = !(fabsf(lw[n / look * k + (k * 37) % (n / look)]) < 5.5f);
    double top = large ? -INFINITY : 0, sum = 0, squares = 0;
    for (long i = 0; i < n && large; i++) {
        double d = (double)z[0] - x[i], v = lw[i] - 0.5 * d * d;
        top = v > top ? v : top;
    }
    for (long i = 0; i < n; i++) {
        double d = (double)z[0] - x[i];
        float e = large ? (float)exp(lw[i] - 0.5 * d * d - top) : expf((float)(lw[i] - 0.5 * d * d));
        w[i] = e; sum += e; squares += (double)e * e;
    }
    for (long i = 0; i < n; i++) w[i] = (float)(w[i] / sum);
    ess[0] = (float)(sum * sum / squares);
}
"""


def launch(x, lw, z, w, ess):
    kernel("pf")(x, lw, z, w, ess, x.shape[0])
