"""Model in 2 kernels (add, mul_10), generated from its graph.

Hypothesis: everything between two stores is computed where it is used, so that memory is passed over as seldom as can be.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;


void kernel(const float *restrict x, const float *restrict residual, float *restrict out1, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < (1024 * d0); i1++) {
        out1[i1] = (x[i1] + residual[i1]);
    }
}

void step1(const float *restrict out1, const float *restrict weight, float *restrict out, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        real acc1 = 0;
        #pragma omp simd reduction(+ : acc1)
        for (long r0 = 0; r0 < 1024; r0++) {
            real v2 = out1[i0 * 1024 + r0];
            acc1 += v2 * v2;
        }
        real v3 = 1 / sqrtf(((acc1 / 1024.0f) + 1e-06f));
        for (long i1 = 0; i1 < 1024; i1++) {
            out[i0 * 1024 + i1] = ((out1[i0 * 1024 + i1] * v3) * weight[i1]);
        }
    }
}
"""


def launch(weight, x, residual, out, out1):
    d0 = x.shape[0]
    kernel("kernel")(x, residual, out1, d0)
    kernel("step1")(out1, weight, out, d0)
