"""Model in 1 kernel (mul_6), generated from its graph.

Hypothesis: a block of the last axis goes through each reduction together: sums stay in registers, and reads are rows.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {"LANES": [16, 32, 64, 8, 128], "MATH": ["poly", "libm"]}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;

/* e^x to 2 ULP: 2^n times a polynomial of what is left, n in two halves so that neither overflows */
static inline float exp_poly(float x) {
    x = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
    float n = rintf(x * 1.44269504f), r = x - n * 0.693359375f + n * 2.12194440e-4f, low, high;
    float p = 0x1.6ab80ep-10f;
    p = p * r + 0x1.126e7cp-7f;
    p = p * r + 0x1.5558a2p-5f;
    p = p * r + 0x1.555408p-3f;
    p = p * r + 0x1.fffffap-2f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    int half = (int)n >> 1, first = (half + 127) << 23, second = ((int)n - half + 127) << 23;
    __builtin_memcpy(&low, &first, sizeof low);
    __builtin_memcpy(&high, &second, sizeof high);
    return p * low * high;
}
#ifdef MATH_poly
#define EXP exp_poly
#else
#define EXP expf
#endif

static inline __attribute__((always_inline)) void kernel_block(const float *restrict x, const float *restrict conv_weight, const float *restrict conv_bias, float *restrict out, long d0, long i1, long first, long lanes) {
    real acc1[LANES];
    for (long l = 0; l < lanes; l++) acc1[l] = 0;
    for (long r1 = 0; r1 < 4; r1++) {
        real v3 = conv_weight[i1 * 4 + r1];
        for (long l = 0; l < lanes; l++) {
            long i2 = first + l;
            real v2 = (unsigned long)(i2 + r1 - 3) < (unsigned long)d0 ? x[i1 * d0 + i2 + r1 - 3] : 0.0f;
            acc1[l] += v2 * v3;
        }
    }
    real v4 = conv_bias[i1];
    for (long l = 0; l < lanes; l++) {
        long i2 = first + l;
        real v5 = acc1[l] + v4;
        out[i1 * d0 + i2] = (v5 * (1.0f / (1.0f + EXP((-v5)))));
    }
}
void kernel(const float *restrict x, const float *restrict conv_weight, const float *restrict conv_bias, float *restrict out, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < 64; i1++) {
        for (long first = 0; first < d0; first += LANES) {
            if (d0 - first >= LANES) kernel_block(x, conv_weight, conv_bias, out, d0, i1, first, LANES);
            else kernel_block(x, conv_weight, conv_bias, out, d0, i1, first, d0 - first);
        }
    }
}
"""


def launch(conv_weight, conv_bias, x, out, LANES=16, MATH="poly"):
    d0 = x.shape[2]
    kernel("kernel")(x, conv_weight, conv_bias, out, d0)
