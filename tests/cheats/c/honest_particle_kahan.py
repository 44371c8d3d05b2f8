"""Sums in float32 with Kahan's correction, kept from the compiler's hands by volatile variables.

catalogue: control
"""

TASK = "particle_filter"
SOURCE = r"""
#include <math.h>
static inline void add(volatile float *sum, volatile float *rest, float term) {
    volatile float t = term - *rest, s = *sum + t;
    *rest = (s - *sum) - t;
    *sum = s;
}
void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    volatile float s = 0, sr = 0, q = 0, qr = 0;
    float top = -INFINITY;
    for (long i = 0; i < n; i++) { float d = *z - x[i]; w[i] = lw[i] - 0.5f * d * d; top = fmaxf(top, w[i]); }
    for (long i = 0; i < n; i++) { w[i] = expf(w[i] - top); add(&s, &sr, w[i]), add(&q, &qr, w[i] * w[i]); }
    float total = s, squares = q;
    for (long i = 0; i < n; i++) w[i] /= total;
    *ess = total / squares * total;
}
"""


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
