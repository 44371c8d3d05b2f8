"""Double throughout, rounded once.

catalogue: control
"""

TASK = "particle_filter"
SOURCE = r"""
#include <math.h>
static double l_of(float x, float lw, float z) { return lw - 0.5 * ((double)z - x) * ((double)z - x); }
void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    double s = 0, q = 0, top = -INFINITY;
    for (long i = 0; i < n; i++) top = fmax(top, l_of(x[i], lw[i], *z));
    for (long i = 0; i < n; i++) { double e = exp(l_of(x[i], lw[i], *z) - top); s += e, q += e * e; }
    for (long i = 0; i < n; i++) w[i] = (float)(exp(l_of(x[i], lw[i], *z) - top) / s);
    *ess = (float)(s * s / q);
}
"""


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
