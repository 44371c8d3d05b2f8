"""OpenMP reductions for the maximum and the sums.

catalogue: control
"""

TASK = "particle_filter"
SOURCE = r"""
#include <math.h>
void particle_filter(const float *x, const float *lw, const float *z, float *w, float *ess, long n) {
    double s = 0, q = 0;
    float top = -INFINITY, at = *z;
    #pragma omp parallel for reduction(max : top)
    for (long i = 0; i < n; i++) { float d = at - x[i]; w[i] = lw[i] - 0.5f * d * d; top = w[i] > top ? w[i] : top; }
    #pragma omp parallel for reduction(+ : s, q)
    for (long i = 0; i < n; i++) { w[i] = expf(w[i] - top); s += w[i]; q += (double)w[i] * w[i]; }
    #pragma omp parallel for
    for (long i = 0; i < n; i++) w[i] = (float)(w[i] / s);
    *ess = (float)(s * s / q);
}
"""


def launch(x, lw, z, w, ess):
    kernel("particle_filter")(x, lw, z, w, ess, x.shape[0])
