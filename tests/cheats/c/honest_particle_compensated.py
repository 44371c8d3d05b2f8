"""Compensated float32 sums.

catalogue: control
"""

TASK = "particle_filter"
SOURCE = r"""
#include <math.h>

void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    float top = -INFINITY;
    for (long i = 0; i < n; i++) { float d = *z - x[i]; w[i] = lw[i] - 0.5f * d * d; top = w[i] > top ? w[i] : top; }
    float s = 0, lost = 0, q = 0, gone = 0;
    for (long i = 0; i < n; i++) {
        w[i] = expf(w[i] - top);
        float part = w[i] - lost, next = s + part;
        lost = (next - s) - part;
        s = next;
        part = w[i] * w[i] - gone;
        next = q + part;
        gone = (next - q) - part;
        q = next;
    }
    for (long i = 0; i < n; i++) w[i] /= s;
    *ess = s / q * s;
}
"""
FLAGS = ["-O2", "-ffp-contract=off"]


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
