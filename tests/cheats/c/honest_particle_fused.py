"""As particle_naive, with the likelihood in one fma.

catalogue: control
"""

TASK = "particle_filter"
SOURCE = r"""
#include <math.h>
void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    double s = 0, q = 0;
    float top = -INFINITY;
    for (long i = 0; i < n; i++) { float d = *z - x[i]; w[i] = fmaf(-0.5f * d, d, lw[i]); top = w[i] > top ? w[i] : top; }
    for (long i = 0; i < n; i++) { w[i] = expf(w[i] - top); s += w[i]; q += (double)w[i] * w[i]; }
    for (long i = 0; i < n; i++) w[i] = (float)(w[i] / s);
    *ess = (float)(s * s / q);
}
"""


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
