"""Model in 1 kernel (max_pool2d_with_indices), generated from its graph.

Hypothesis: a block of the last axis goes through each reduction together: sums stay in registers, and reads are rows.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {"LANES": [16, 32, 64, 8, 128]}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;


static inline __attribute__((always_inline)) void kernel_block(const float *restrict x, float *restrict out, long d0, long d1, long d2, long i1, long i2, long first, long lanes) {
    real acc1[LANES];
    for (long l = 0; l < lanes; l++) acc1[l] = -INFINITY;
    for (long r0 = 0; r0 < 3; r0++) {
        for (long r1 = 0; r1 < 3; r1++) {
            for (long l = 0; l < lanes; l++) {
                long i3 = first + l;
                real v2 = (unsigned long)(i2 * 2 + r0 - 1) < (unsigned long)d1 && (unsigned long)(i3 * 2 + r1 - 1) < (unsigned long)d2 ? x[i1 * (d1 * d2) + i2 * (2 * d2) + r0 * d2 + i3 * 2 + r1 - d2 - 1] : -INFINITY;
                acc1[l] = v2 > acc1[l] ? v2 : acc1[l];
            }
        }
    }
    for (long l = 0; l < lanes; l++) {
        long i3 = first + l;
        out[i1 * (((-1 + d1) / 2) * ((-1 + d2) / 2) + ((-1 + d1) / 2) + ((-1 + d2) / 2) + 1) + i2 * (((-1 + d2) / 2) + 1) + i3] = acc1[l];
    }
}
void kernel(const float *restrict x, float *restrict out, long d0, long d1, long d2) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < d0; i1++) {
        for (long i2 = 0; i2 < (((-1 + d1) / 2) + 1); i2++) {
            for (long first = 0; first < (((-1 + d2) / 2) + 1); first += LANES) {
                if ((((-1 + d2) / 2) + 1) - first >= LANES) kernel_block(x, out, d0, d1, d2, i1, i2, first, LANES);
                else kernel_block(x, out, d0, d1, d2, i1, i2, first, (((-1 + d2) / 2) + 1) - first);
            }
        }
    }
}
"""


def launch(x, out, LANES=16):
    d0 = x.shape[1]
    d1 = x.shape[2]
    d2 = x.shape[3]
    kernel("kernel")(x, out, d0, d1, d2)
