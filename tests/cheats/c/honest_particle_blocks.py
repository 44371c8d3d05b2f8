"""Running float32 sums over blocks of 4096 particles, added up in float32.

catalogue: control
"""

TASK = "particle_filter"
SOURCE = r"""
#include <math.h>

void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    float top = -INFINITY;
    for (long i = 0; i < n; i++) { float d = *z - x[i]; w[i] = lw[i] - 0.5f * d * d; top = w[i] > top ? w[i] : top; }
    float s = 0, q = 0;
    for (long i = 0; i < n; i += 4096) {
        float part = 0, square = 0;
        for (long j = i; j < n && j < i + 4096; j++) { w[j] = expf(w[j] - top); part += w[j]; square += w[j] * w[j]; }
        s += part;
        q += square;
    }
    for (long i = 0; i < n; i++) w[i] /= s;
    *ess = s / q * s;
}
"""
FLAGS = ["-O2", "-ffp-contract=off"]


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
