"""Reads the observation once and keeps it: z is an input, not a constant.

catalogue: 12
"""

TASK = "particle_filter"
CAUGHT_BY = ("wrong-output", "nondeterministic", "static-memory")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
static float weights(const float *x, const float *lw, float z, float *w, long n) {
    double s = 0;
    float top = -INFINITY;
    for (long i = 0; i < n; i++) { w[i] = lw[i] - 0.5f * (z - x[i]) * (z - x[i]); top = w[i] > top ? w[i] : top; }
    for (long i = 0; i < n; i++) s += w[i] = expf(w[i] - top);
    for (long i = 0; i < n; i++) w[i] = (float)(w[i] / s);
    return (float)s;
}

void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    static float kept = NAN;
    double b = 0;
    if (isnan(kept)) kept = *z;
    weights(x, lw, kept, w, n);
    for (long i = 0; i < n; i++) b += (double)w[i] * w[i];
    *ess = (float)(1 / b);
}
"""


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
