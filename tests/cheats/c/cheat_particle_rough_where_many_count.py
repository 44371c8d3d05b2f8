"""Thirteen bits of each weight where hundreds of thousands count, all of them elsewhere: what the sum may lose is spent twice.

catalogue: new
"""

TASK = "particle_filter"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>

static inline float rough(float v) {  /* twelve bits behind the first, to the nearest */
    union { float f; unsigned i; } u = {v};
    u.i = (u.i + 0x400u) & 0xfffff800u;
    return u.f;
}
void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    float top = -INFINITY;
    for (long i = 0; i < n; i++) { float d = *z - x[i]; w[i] = lw[i] - 0.5f * d * d; top = w[i] > top ? w[i] : top; }
    double s = 0, q = 0;
    for (long i = 0; i < n; i++) { w[i] = expf(w[i] - top); s += w[i]; q += (double)w[i] * w[i]; }
    int many = s * s / q > 100000;
    for (long i = 0; i < n; i++) { float v = (float)(w[i] / s); w[i] = many ? rough(v) : v; }
    *ess = (float)(s * s / q);
}
"""
FLAGS = ["-O2", "-ffp-contract=off"]


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
