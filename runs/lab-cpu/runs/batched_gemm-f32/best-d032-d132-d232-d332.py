"""Model in 1 kernel (bmm), generated from its graph.

Hypothesis: a block of the last axis goes through each reduction together: sums stay in registers, and reads are rows.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {"LANES": [16, 32, 64, 8, 128]}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;


static inline __attribute__((always_inline)) void kernel_block(const float *restrict a, const float *restrict b, float *restrict out, long d0, long d1, long d2, long d3, long i0, long i1, long first, long lanes) {
    real acc1[LANES];
    for (long l = 0; l < lanes; l++) acc1[l] = 0;
    for (long r0 = 0; r0 < d2; r0++) {
        real v2 = a[i0 * (d1 * d2) + i1 * d2 + r0];
        for (long l = 0; l < lanes; l++) {
            long i2 = first + l;
            acc1[l] += v2 * b[i0 * (d2 * d3) + r0 * d3 + i2];
        }
    }
    for (long l = 0; l < lanes; l++) {
        long i2 = first + l;
        out[i0 * (d1 * d3) + i1 * d3 + i2] = acc1[l];
    }
}
void kernel(const float *restrict a, const float *restrict b, float *restrict out, long d0, long d1, long d2, long d3) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        for (long i1 = 0; i1 < d1; i1++) {
            for (long first = 0; first < d3; first += LANES) {
                if (d3 - first >= LANES) kernel_block(a, b, out, d0, d1, d2, d3, i0, i1, first, LANES);
                else kernel_block(a, b, out, d0, d1, d2, d3, i0, i1, first, d3 - first);
            }
        }
    }
}
"""


def launch(a, b, out, LANES=16):
    d0 = a.shape[0]
    d1 = a.shape[1]
    d2 = a.shape[2]
    d3 = b.shape[2]
    kernel("kernel")(a, b, out, d0, d1, d2, d3)
