"""Model in 3 kernels (mul_20, sum_1, sum_2), generated from its graph.

Hypothesis: a block of the last axis goes through each reduction together: sums stay in registers, and reads are rows.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {"LANES": [16, 32, 64, 8, 128]}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;


void kernel(const float *restrict grad, const float *restrict weight, const float *restrict x, const float *restrict mean, const float *restrict rstd, float *restrict out, long d0, long d1) {
    long v2 = d1;
    real v3 = (real)(v2);
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        real acc1 = 0;
        #pragma omp simd reduction(+ : acc1)
        for (long r0 = 0; r0 < d1; r0++) {
            acc1 += grad[i0 * d1 + r0] * weight[r0];
        }
        real v4 = acc1 / v3;
        real v5 = mean[i0];
        real v6 = rstd[i0];
        real acc7 = 0;
        #pragma omp simd reduction(+ : acc7)
        for (long r1 = 0; r1 < d1; r1++) {
            acc7 += (grad[i0 * d1 + r1] * weight[r1]) * ((x[i0 * d1 + r1] - v5) * v6);
        }
        real v8 = acc7 / v3;
        for (long i1 = 0; i1 < d1; i1++) {
            out[i0 * d1 + i1] = ((((grad[i0 * d1 + i1] * weight[i1]) - v4) - (((x[i0 * d1 + i1] - v5) * v6) * v8)) * v6);
        }
    }
}

static inline __attribute__((always_inline)) void step1_block(const float *restrict grad, const float *restrict x, const float *restrict mean, const float *restrict rstd, float *restrict out1, long d0, long d1, long first, long lanes) {
    real acc1[LANES];
    for (long l = 0; l < lanes; l++) acc1[l] = 0;
    for (long r0 = 0; r0 < d0; r0++) {
        real v2 = mean[r0];
        real v3 = rstd[r0];
        for (long l = 0; l < lanes; l++) {
            long i0 = first + l;
            acc1[l] += grad[r0 * d1 + i0] * ((x[r0 * d1 + i0] - v2) * v3);
        }
    }
    for (long l = 0; l < lanes; l++) {
        long i0 = first + l;
        out1[i0] = acc1[l];
    }
}
void step1(const float *restrict grad, const float *restrict x, const float *restrict mean, const float *restrict rstd, float *restrict out1, long d0, long d1) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long first = 0; first < d1; first += LANES) {
        if (d1 - first >= LANES) step1_block(grad, x, mean, rstd, out1, d0, d1, first, LANES);
        else step1_block(grad, x, mean, rstd, out1, d0, d1, first, d1 - first);
    }
}

static inline __attribute__((always_inline)) void step2_block(const float *restrict grad, float *restrict out2, long d0, long d1, long first, long lanes) {
    real acc1[LANES];
    for (long l = 0; l < lanes; l++) acc1[l] = 0;
    for (long r0 = 0; r0 < d0; r0++) {
        for (long l = 0; l < lanes; l++) {
            long i0 = first + l;
            acc1[l] += grad[r0 * d1 + i0];
        }
    }
    for (long l = 0; l < lanes; l++) {
        long i0 = first + l;
        out2[i0] = acc1[l];
    }
}
void step2(const float *restrict grad, float *restrict out2, long d0, long d1) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long first = 0; first < d1; first += LANES) {
        if (d1 - first >= LANES) step2_block(grad, out2, d0, d1, first, LANES);
        else step2_block(grad, out2, d0, d1, first, d1 - first);
    }
}
"""


def launch(grad, x, weight, mean, rstd, out, out1, out2, LANES=16):
    d0 = grad.shape[0]
    d1 = grad.shape[1]
    kernel("kernel")(grad, weight, x, mean, rstd, out, d0, d1)
    kernel("step1")(grad, x, mean, rstd, out1, d0, d1)
    kernel("step2")(grad, out2, d0, d1)
