"""Model in 1 kernel (sub_5), generated from its graph.

Hypothesis: everything between two stores is computed where it is used, so that memory is passed over as seldom as can be.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;


void kernel(const float *restrict grad, const float *restrict y, float *restrict out, long d0, long d1) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        real acc2 = 0;
        #pragma omp simd reduction(+ : acc2)
        for (long r0 = 0; r0 < d1; r0++) {
            acc2 += grad[i0 * d1 + r0] * y[i0 * d1 + r0];
        }
        for (long i1 = 0; i1 < d1; i1++) {
            real v1 = y[i0 * d1 + i1];
            out[i0 * d1 + i1] = ((grad[i0 * d1 + i1] * v1) - (v1 * acc2));
        }
    }
}
"""


def launch(grad, y, out):
    d0 = grad.shape[0]
    d1 = grad.shape[1]
    kernel("kernel")(grad, y, out, d0, d1)
