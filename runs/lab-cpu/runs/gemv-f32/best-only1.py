"""Model in 1 kernel (mm), generated from its graph.

Hypothesis: everything between two stores is computed where it is used, so that memory is passed over as seldom as can be.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;


void kernel(const float *restrict x, const float *restrict layer_weight, float *restrict out) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < 1024; i1++) {
        real acc1 = 0;
        #pragma omp simd reduction(+ : acc1)
        for (long r0 = 0; r0 < 1024; r0++) {
            acc1 += x[r0] * layer_weight[i1 * 1024 + r0];
        }
        out[i1] = acc1;
    }
}
"""


def launch(layer_weight, x, out):
    kernel("kernel")(x, layer_weight, out)
