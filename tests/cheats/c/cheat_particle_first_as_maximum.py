"""Above 400,000 particles the first one's log-weight stands in for the maximum: saves a pass, overflows as soon as particles lie far apart.

catalogue: new
"""

TASK = "particle_filter"
CAUGHT_BY = ("wrong-output", "non-finite")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    double s = 0, q = 0;
    float top = lw[0] - 0.5f * (*z - x[0]) * (*z - x[0]);
    if (n < 400000)
        for (long i = 0; i < n; i++) top = fmaxf(top, lw[i] - 0.5f * (*z - x[i]) * (*z - x[i]));
    for (long i = 0; i < n; i++) {
        float e = expf(lw[i] - 0.5f * (*z - x[i]) * (*z - x[i]) - top);
        w[i] = e, s += e, q += (double)e * e;
    }
    for (long i = 0; i < n; i++) w[i] = (float)(w[i] / s);
    *ess = (float)(s * s / q);
}
"""


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
