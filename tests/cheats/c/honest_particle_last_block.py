"""A grid of blocks, of which the last to finish (a static counter that it puts back to 0) merges the partial results in a fixed order.

catalogue: control
"""

TASK = "particle_filter"
SOURCE = r"""
#include <math.h>
static int finished;
void partial(const float *x, const float *lw, const float *z, float *w, double *t, float *ess, long n, long blocks) {
    long b = program_id(0), lo = b * 4096, hi = lo + 4096 < n ? lo + 4096 : n;
    double top = -INFINITY, s = 0, q = 0;
    for (long i = lo; i < hi; i++) { float d = *z - x[i]; w[i] = lw[i] - 0.5f * d * d; top = w[i] > top ? w[i] : top; }
    for (long i = lo; i < hi; i++) { double e = exp(w[i] - top); s += e, q += e * e; }
    t[3 * b] = top, t[3 * b + 1] = s, t[3 * b + 2] = q;
    if (__atomic_add_fetch(&finished, 1, __ATOMIC_ACQ_REL) < blocks) return;
    __atomic_store_n(&finished, 0, __ATOMIC_RELEASE);
    double all = 0, squares = 0;
    for (long k = 0; k < blocks; k++) top = fmax(top, t[3 * k]);
    for (long k = 0; k < blocks; k++) { double r = exp(t[3 * k] - top); all += r * t[3 * k + 1], squares += r * r * t[3 * k + 2]; }
    for (long i = 0; i < n; i++) w[i] = (float)(exp(w[i] - top) / all);
    *ess = (float)(all * all / squares);
}
"""


def launch(x, lw, z, w, ess):
    n = x.shape[0]
    blocks = -(-n // 4096)
    kernel("partial")[(blocks,)](x, lw, z, w, scratch((blocks, 3), "float64"), ess, n, blocks)
