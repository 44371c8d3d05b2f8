"""Sums by recursive halving with a variable-length array at the bottom: another order than any loop's.

catalogue: control
"""

TASK = "particle_filter"
SOURCE = r"""
#include <math.h>
typedef struct { float s, q; } sums;
static sums halves(const float *w, long n) {
    if (n <= 48) {
        float terms[n];
        sums all = {0, 0};
        for (long i = 0; i < n; i++) terms[i] = w[n - 1 - i];
        for (long i = 0; i < n; i++) all.s += terms[i], all.q += terms[i] * terms[i];
        return all;
    }
    sums a = halves(w, n / 2), b = halves(w + n / 2, n - n / 2);
    return (sums){a.s + b.s, a.q + b.q};
}
void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    float top = -INFINITY;
    for (long i = 0; i < n; i++) { float d = *z - x[i]; w[i] = lw[i] - 0.5f * d * d; top = fmaxf(top, w[i]); }
    for (long i = 0; i < n; i++) w[i] = expf(w[i] - top);
    sums all = halves(w, n);
    for (long i = 0; i < n; i++) w[i] /= all.s;
    *ess = all.s / all.q * all.s;
}
"""


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
