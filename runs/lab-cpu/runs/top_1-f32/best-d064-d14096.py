"""Model in 2 kernels (max_1, max_1_1), generated from its graph.

Hypothesis: everything between two stores is computed where it is used, so that memory is passed over as seldom as can be.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;


void kernel(const float *restrict x, float *restrict out, long d0, long d1) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        real acc1 = -INFINITY;
        #pragma omp simd reduction(max : acc1)
        for (long r0 = 0; r0 < d1; r0++) {
            real v2 = x[i0 * d1 + r0];
            acc1 = v2 > acc1 ? v2 : acc1;
        }
        out[i0] = acc1;
    }
}

void step1(const float *restrict x, long long *restrict out1, long d0, long d1) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        real acc1 = -INFINITY;
        long at2 = 0;
        for (long r0 = 0; r0 < d1; r0++) {
            real v3 = x[i0 * d1 + r0];
            if (v3 > acc1) { acc1 = v3; at2 = r0; }
        }
        out1[i0] = (long)(at2);
    }
}
"""


def launch(x, out, out1):
    d0 = x.shape[0]
    d1 = x.shape[1]
    kernel("kernel")(x, out, d0, d1)
    kernel("step1")(x, out1, d0, d1)
