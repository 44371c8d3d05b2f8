"""Partial sums of 4096 weights are kept in bfloat16.

catalogue: 47
"""

TASK = "particle_filter"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
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
    for (long i = 0; i < n; i += 4096) {
        float part = 0, square = 0;
        for (long j = i; j < n && j < i + 4096; j++) { w[j] = expf(w[j] - top); part += w[j]; square += w[j] * w[j]; }
        s += seven(part);
        q += seven(square);
    }
    for (long i = 0; i < n; i++) w[i] = (float)(w[i] / s);
    *ess = (float)(s * s / q);
}
"""
FLAGS = ["-O2", "-ffp-contract=off"]


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
