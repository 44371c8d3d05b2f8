"""Model in 2 kernels (mul, mm), generated from its graph.

Hypothesis: everything between two stores is computed where it is used, so that memory is passed over as seldom as can be.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;


void kernel(const unsigned char *restrict packed, const unsigned char *restrict zero, const float *restrict factor, float *restrict mul) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < 4096; i1++) {
        real v4 = (real)(zero[i1]);
        real v5 = factor[i1];
        for (long i2o = 0; i2o < 32; i2o++) {
            for (long i2i = 0; i2i < 2; i2i++) {
                long v1;
                if ((unsigned long)(i2i) < (unsigned long)1) {
                    long v2 = (long)(packed[i1 * 32 + i2o]);
                    v1 = (long)((long)((long)((v2 & (long)(15)))));
                }
                else {
                    long v3 = (long)(packed[i1 * 32 + i2o]);
                    v1 = (long)((long)((long)((v3 >> (long)(4)))));
                }
                mul[i1 * 64 + i2o * 2 + i2i] = (((real)((long)((long)((long)(v1)))) - v4) * v5);
            }
        }
    }
}

void step1(const float *restrict x, const float *restrict mul, float *restrict out, long d0) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        for (long i1 = 0; i1 < 512; i1++) {
            real acc1 = 0;
            #pragma omp simd reduction(+ : acc1)
            for (long r0i = 0; r0i < 512; r0i++) {
                acc1 += x[i0 * 512 + r0i] * mul[i1 * 512 + r0i];
            }
            out[i0 * 512 + i1] = acc1;
        }
    }
}
"""


def launch(packed, factor, zero, x, out):
    d0 = x.shape[0]
    mul = scratch((512, 8, 64,), "float32")
    kernel("kernel")(packed, zero, factor, mul)
    kernel("step1")(x, mul, out, d0)
