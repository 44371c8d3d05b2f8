"""Blocks of 1000 particles on a grid, partial results in scratch, merged by a second step.

catalogue: control
"""

TASK = "particle_filter"
SOURCE = r"""
#include <math.h>
void partial(const float *x, const float *lw, const float *z, float *w, double *t, long n) {
    long b = program_id(0), lo = b * 1000, hi = lo + 1000 < n ? lo + 1000 : n;
    double top = -INFINITY, s = 0, q = 0;
    for (long i = lo; i < hi; i++) { float d = *z - x[i]; w[i] = lw[i] - 0.5f * d * d; top = w[i] > top ? w[i] : top; }
    for (long i = lo; i < hi; i++) { double e = exp(w[i] - top); s += e, q += e * e; }
    t[3 * b] = top, t[3 * b + 1] = s, t[3 * b + 2] = q;
}
void merge(const double *t, float *w, float *ess, long n, long blocks) {
    double top = -INFINITY, s = 0, q = 0;
    for (long b = 0; b < blocks; b++) top = fmax(top, t[3 * b]);
    for (long b = 0; b < blocks; b++) { double r = exp(t[3 * b] - top); s += r * t[3 * b + 1], q += r * r * t[3 * b + 2]; }
    for (long i = 0; i < n; i++) w[i] = (float)(exp(w[i] - top) / s);
    *ess = (float)(s * s / q);
}
"""


def launch(x, lw, z, w, ess):
    n = x.shape[0]
    blocks = -(-n // 1000)
    t = scratch((blocks, 3), "float64")
    kernel("partial")[(blocks,)](x, lw, z, w, t, n)
    kernel("merge")(t, w, ess, n, blocks)
