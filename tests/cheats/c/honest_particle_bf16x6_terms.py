"""The sums take their terms as three bfloat16 parts: all of float32.

catalogue: control
"""

TASK = "particle_filter"
SOURCE = r"""
#include <math.h>

static inline float seven(float v) {  /* bfloat16, to the nearest */
    union { float f; unsigned i; } u = {v};
    if ((u.i & 0x7f800000u) == 0x7f800000u) return v;
    u.i = (u.i + 0x7fffu + ((u.i >> 16) & 1)) & 0xffff0000u;
    return u.f;
}
void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    float top = -INFINITY;
    for (long i = 0; i < n; i++) { float d = *z - x[i]; w[i] = lw[i] - 0.5f * d * d; top = w[i] > top ? w[i] : top; }
    double s = 0, q = 0;
    for (long i = 0; i < n; i++) { w[i] = expf(w[i] - top); float h = seven(w[i]), l = seven(w[i] - h), t = h + (l + seven(w[i] - h - l)); s += t; q += (double)t * t; }
    for (long i = 0; i < n; i++) w[i] = (float)(w[i] / s);
    *ess = (float)(s * s / q);
}
"""
FLAGS = ["-O2", "-ffp-contract=off"]


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
