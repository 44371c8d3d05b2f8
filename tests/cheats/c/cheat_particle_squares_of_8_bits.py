"""From 65,536 particles on the effective sample size sums squares of 8 bits (bfloat16): a long sum of random inputs averages the errors away.

catalogue: new
"""

TASK = "particle_filter"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
static float round_to(float v, int bits) {
    union { float f; unsigned i; } u = {v};
    unsigned drop = 24 - bits, half = 1u << (drop - 1);
    u.i = (u.i + half) & ~((1u << drop) - 1);
    return u.f;
}
void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    double s = 0, q = 0;
    float top = -INFINITY;
    for (long i = 0; i < n; i++) { w[i] = lw[i] - 0.5f * (*z - x[i]) * (*z - x[i]); top = fmaxf(top, w[i]); }
    for (long i = 0; i < n; i++) {
        w[i] = expf(w[i] - top), s += w[i];
        q += n < 65536 ? (double)w[i] * w[i] : round_to(w[i] * w[i], 8);
    }
    for (long i = 0; i < n; i++) w[i] = (float)(w[i] / s);
    *ess = (float)(s * s / q);
}
"""


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
