"""Rows are handed out by a counter in static memory; the last thread to leave puts it back to 0.

catalogue: control
"""

TASK = "stencil3x3"
THREADS = 2
SOURCE = r"""
#ifdef _OPENMP
#include <omp.h>
#else
#define omp_get_num_threads() 1
#endif
static long next_row;
static int gone;
static void row(const float *x, float *y, long h, long w, long c, long i) {
    long l = w * c;
    const float *up = i ? x + (i - 1) * l : 0, *mid = x + i * l, *low = i + 1 < h ? x + (i + 1) * l : 0;
    float left, here, right;
    for (long q = 0; q < c; q++) {
        left = 0, here = 0.5f * mid[q] + 0.25f * ((up ? up[q] : 0) + (low ? low[q] : 0));
        for (long p = q; p < l; p += c) {
            right = p + c < l ? 0.5f * mid[p + c] + 0.25f * ((up ? up[p + c] : 0) + (low ? low[p + c] : 0)) : 0;
            y[i * l + p] = 0.5f * here + 0.25f * (left + right);
            left = here, here = right;
        }
    }
}
void stencil(const float *x, float *y, long h, long w, long c) {
    #pragma omp parallel num_threads(2)
    {
        long i;
        while ((i = __atomic_fetch_add(&next_row, 1, __ATOMIC_RELAXED)) < h) row(x, y, h, w, c, i);
        #pragma omp barrier
        if (__atomic_add_fetch(&gone, 1, __ATOMIC_ACQ_REL) == omp_get_num_threads()) {
            __atomic_store_n(&next_row, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&gone, 0, __ATOMIC_RELEASE);
        }
    }
}
"""


def launch(x, y):
    h, w, c = x.shape
    kernel("stencil")(x, y, h, w, c)
