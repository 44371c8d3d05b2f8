"""Model in 1 kernel (sum_1), generated from its graph.

Hypothesis: a block of the last axis goes through each reduction together: sums stay in registers, and reads are rows.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {"LANES": [16, 32, 64, 8, 128]}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;


static inline __attribute__((always_inline)) void kernel_block(const long long *restrict index_, const float *restrict table, const float *restrict weight, float *restrict out, long d0, long d1, long i0, long first, long lanes) {
    real acc1[LANES];
    for (long l = 0; l < lanes; l++) acc1[l] = 0;
    for (long r0 = 0; r0 < d1; r0++) {
        long v2 = index_[i0 * d1 + r0];
        long v3 = (v2 < 0) ? (v2 + 1000) : v2;
        real v4 = weight[i0 * d1 + r0];
        for (long l = 0; l < lanes; l++) {
            long i1 = first + l;
            acc1[l] += table[v3 * 64 + i1] * v4;
        }
    }
    for (long l = 0; l < lanes; l++) {
        long i1 = first + l;
        out[i0 * 64 + i1] = acc1[l];
    }
}
void kernel(const long long *restrict index_, const float *restrict table, const float *restrict weight, float *restrict out, long d0, long d1) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        for (long first = 0; first < 64; first += LANES) {
            if (64 - first >= LANES) kernel_block(index_, table, weight, out, d0, d1, i0, first, LANES);
            else kernel_block(index_, table, weight, out, d0, d1, i0, first, 64 - first);
        }
    }
}
"""


def launch(table, index_, weight, out, LANES=16):
    d0 = index_.shape[0]
    d1 = index_.shape[1]
    kernel("kernel")(index_, table, weight, out, d0, d1)
