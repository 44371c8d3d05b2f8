"""Model in 4 kernels (sqrt, mul_6, mul_9, mul_12), generated from its graph.

Hypothesis: everything between two stores is computed where it is used, so that memory is passed over as seldom as can be.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;


void kernel(const float *restrict a, const float *restrict b, const float *restrict c, float *restrict out3, long d0, long d1, long d2, long d3, long d4) {
    real acc1 = 0;
    #pragma omp parallel for simd reduction(+ : acc1) num_threads(KLAB_THREADS) if(parallel : KLAB_THREADS > 1)
    for (long r1 = 0; r1 < (d0 * d1); r1++) {
        real v2 = a[r1];
        acc1 += v2 * v2;
    }
    real acc3 = 0;
    #pragma omp parallel for simd reduction(+ : acc3) num_threads(KLAB_THREADS) if(parallel : KLAB_THREADS > 1)
    for (long r3 = 0; r3 < (d2 * d3); r3++) {
        real v4 = b[r3];
        acc3 += v4 * v4;
    }
    real acc5 = 0;
    #pragma omp parallel for simd reduction(+ : acc5) num_threads(KLAB_THREADS) if(parallel : KLAB_THREADS > 1)
    for (long r4 = 0; r4 < d4; r4++) {
        real v6 = c[r4];
        acc5 += v6 * v6;
    }
    out3[0] = sqrtf(((acc1 + acc3) + acc5));
}

void step1(const float *restrict a, const float *restrict out3, float *restrict out, long d0, long d1) {
    real v1 = 1.0f / (out3[0] + 1e-06f);
    real v2 = v1 < 1.0f ? v1 : 1.0f;
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < (d0 * d1); i1++) {
        out[i1] = (a[i1] * v2);
    }
}

void step2(const float *restrict b, const float *restrict out3, float *restrict out1, long d2, long d3) {
    real v1 = 1.0f / (out3[0] + 1e-06f);
    real v2 = v1 < 1.0f ? v1 : 1.0f;
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < (d2 * d3); i1++) {
        out1[i1] = (b[i1] * v2);
    }
}

void step3(const float *restrict c, const float *restrict out3, float *restrict out2, long d4) {
    real v1 = 1.0f / (out3[0] + 1e-06f);
    real v2 = v1 < 1.0f ? v1 : 1.0f;
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d4; i0++) {
        out2[i0] = (c[i0] * v2);
    }
}
"""


def launch(a, b, c, out, out1, out2, out3):
    d0 = a.shape[0]
    d1 = a.shape[1]
    d2 = b.shape[0]
    d3 = b.shape[1]
    d4 = c.shape[0]
    kernel("kernel")(a, b, c, out3, d0, d1, d2, d3, d4)
    kernel("step1")(a, out3, out, d0, d1)
    kernel("step2")(b, out3, out1, d2, d3)
    kernel("step3")(c, out3, out2, d4)
