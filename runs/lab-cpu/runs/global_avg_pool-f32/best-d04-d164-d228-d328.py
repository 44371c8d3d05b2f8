"""Model in 1 kernel (mean), generated from its graph.

Hypothesis: everything between two stores is computed where it is used, so that memory is passed over as seldom as can be.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;


void kernel(const float *restrict x, float *restrict out, long d0, long d1, long d2, long d3) {
    long v2 = d2 * d3;
    real v3 = (real)(v2);
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < (d0 * d1); i1++) {
        real acc1 = 0;
        #pragma omp simd reduction(+ : acc1)
        for (long r1 = 0; r1 < (d2 * d3); r1++) {
            acc1 += x[i1 * (d2 * d3) + r1];
        }
        out[i1] = (acc1 / v3);
    }
}
"""


def launch(x, out):
    d0 = x.shape[0]
    d1 = x.shape[1]
    d2 = x.shape[2]
    d3 = x.shape[3]
    kernel("kernel")(x, out, d0, d1, d2, d3)
