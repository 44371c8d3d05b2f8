"""Model in 2 kernels (add_40, add_69), generated from its graph.

Hypothesis: everything between two stores is computed where it is used, so that memory is passed over as seldom as can be.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;


void kernel(const float *restrict q, const float *restrict cos_, const float *restrict sin_, float *restrict out, long d0, long d1, long d2) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < d0; i1++) {
        for (long i2 = 0; i2 < d1; i2++) {
            for (long i3 = 0; i3 < d2; i3++) {
                real v1;
                if ((unsigned long)(i3) < (unsigned long)(d2 - (d2 / 2))) {
                    v1 = -q[i1 * (d1 * d2) + i2 * d2 + i3 + (d2 / 2)];
                }
                else {
                    v1 = q[i1 * (d1 * d2) + i2 * d2 + i3 + (d2 / 2) - d2];
                }
                out[i1 * (d1 * d2) + i2 * d2 + i3] = ((q[i1 * (d1 * d2) + i2 * d2 + i3] * cos_[i2 * d2 + i3]) + (v1 * sin_[i2 * d2 + i3]));
            }
        }
    }
}

void step1(const float *restrict k, const float *restrict cos_, const float *restrict sin_, float *restrict out1, long d1, long d2, long d3) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < d3; i1++) {
        for (long i2 = 0; i2 < d1; i2++) {
            for (long i3 = 0; i3 < d2; i3++) {
                real v1;
                if ((unsigned long)(i3) < (unsigned long)(d2 - (d2 / 2))) {
                    v1 = -k[i1 * (d1 * d2) + i2 * d2 + i3 + (d2 / 2)];
                }
                else {
                    v1 = k[i1 * (d1 * d2) + i2 * d2 + i3 + (d2 / 2) - d2];
                }
                out1[i1 * (d1 * d2) + i2 * d2 + i3] = ((k[i1 * (d1 * d2) + i2 * d2 + i3] * cos_[i2 * d2 + i3]) + (v1 * sin_[i2 * d2 + i3]));
            }
        }
    }
}
"""


def launch(q, k, cos_, sin_, out, out1):
    d0 = q.shape[1]
    d1 = q.shape[2]
    d2 = q.shape[3]
    d3 = k.shape[1]
    kernel("kernel")(q, cos_, sin_, out, d0, d1, d2)
    kernel("step1")(k, cos_, sin_, out1, d1, d2, d3)
