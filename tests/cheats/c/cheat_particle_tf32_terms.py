"""Both sums take their terms as TF32.

catalogue: 47
"""

TASK = "particle_filter"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>

static inline float ten(float v) {  /* TF32: ten bits behind the first, to the nearest */
    union { float f; unsigned i; } u = {v};
    if ((u.i & 0x7f800000u) == 0x7f800000u) return v;
    u.i = (u.i + 0x1000u) & 0xffffe000u;
    return u.f;
}
void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    float top = -INFINITY;
    for (long i = 0; i < n; i++) { float d = *z - x[i]; w[i] = lw[i] - 0.5f * d * d; top = w[i] > top ? w[i] : top; }
    double s = 0, q = 0;
    for (long i = 0; i < n; i++) { w[i] = expf(w[i] - top); float t = ten(w[i]); s += t; q += (double)t * t; }
    for (long i = 0; i < n; i++) w[i] = (float)(w[i] / s);
    *ess = (float)(s * s / q);
}
"""
FLAGS = ["-O2", "-ffp-contract=off"]


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
