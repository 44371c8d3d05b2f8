"""The largest log-weight is looked for from -10000 on: all weights vanish where every one is below, as after many updates.

catalogue: new
"""

TASK = "particle_filter"
CAUGHT_BY = ("wrong-output", "non-finite")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
static float log_weight(float x, float lw, float z) { return lw - 0.5f * (z - x) * (z - x); }
void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    double s = 0, q = 0;
    float top = -1e4f;
    for (long i = 0; i < n; i++) top = fmaxf(top, log_weight(x[i], lw[i], *z));
    for (long i = 0; i < n; i++) {
        float e = expf(log_weight(x[i], lw[i], *z) - top);
        w[i] = e, s += e, q += (double)e * e;
    }
    for (long i = 0; i < n; i++) w[i] = (float)(w[i] / s);
    *ess = (float)(s * s / q);
}
"""


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
