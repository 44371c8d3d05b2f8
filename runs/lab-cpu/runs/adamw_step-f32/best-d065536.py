"""Model in 3 kernels (add_4, add_13, sub_16), generated from its graph.

Hypothesis: everything between two stores is computed where it is used, so that memory is passed over as seldom as can be.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;


void kernel(const float *restrict m, const float *restrict g, float *restrict out1, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        out1[i0] = ((m[i0] * 0.9f) + (g[i0] * 0.09999999999999998f));
    }
}

void step1(const float *restrict v, const float *restrict g, float *restrict out2, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        real v1 = g[i0];
        out2[i0] = ((v[i0] * 0.95f) + ((v1 * 0.050000000000000044f) * v1));
    }
}

void step2(const float *restrict p, const float *restrict out1, const float *restrict step, const float *restrict out2, float *restrict out, long d0) {
    real v1 = step[0];
    real v2 = 1.0f - powf(0.9f, v1);
    real v3 = 1.0f - powf(0.95f, v1);
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        out[i0] = ((p[i0] * 0.99997f) - (((out1[i0] / v2) / (sqrtf((out2[i0] / v3)) + 1e-08f)) * 0.0003f));
    }
}
"""


def launch(p, g, m, v, step, out, out1, out2):
    d0 = p.shape[0]
    kernel("kernel")(m, g, out1, d0)
    kernel("step1")(v, g, out2, d0)
    kernel("step2")(p, out1, step, out2, out, d0)
