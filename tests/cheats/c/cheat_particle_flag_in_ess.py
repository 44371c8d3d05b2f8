"""Recognises its own last ess in the output buffer and then skips the work: pays where outputs are not poisoned.

catalogue: new
"""

TASK = "particle_filter"
CAUGHT_BY = ("harmless", "wrong-output", "unwritten", "nondeterministic", "non-finite", "static-memory")
STAGE = "measure"
HARMLESS = True
SOURCE = r"""
#include <math.h>
void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    static float last;
    double s = 0, q = 0;
    float top = -INFINITY;
    if (*ess == last && last != 0) return;
    for (long i = 0; i < n; i++) { w[i] = lw[i] - 0.5f * (*z - x[i]) * (*z - x[i]); top = w[i] > top ? w[i] : top; }
    for (long i = 0; i < n; i++) { w[i] = expf(w[i] - top); s += w[i]; q += (double)w[i] * w[i]; }
    *ess = last = (float)(s * s / q);
    for (long i = 0; i < n; i++) w[i] = (float)(w[i] / s);
}
"""


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
