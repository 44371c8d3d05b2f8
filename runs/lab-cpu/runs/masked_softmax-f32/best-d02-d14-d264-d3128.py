"""Model in 1 kernel (_softmax), generated from its graph.

Hypothesis: what a row's sum goes over is computed once, waits in the row of the result, and is read again from the cache.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {"MATH": ["poly", "libm"]}

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

void kernel(const float *restrict scores, const float *restrict mask_, float *restrict out, long d0, long d1, long d2, long d3) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        for (long i1 = 0; i1 < d1; i1++) {
            for (long i2 = 0; i2 < d2; i2++) {
                real acc1 = 0;
                real acc3 = -INFINITY;
                #pragma omp simd reduction(max : acc3)
                for (long i3 = 0; i3 < d3; i3++) {
                    real v4 = (scores[i0 * (d1 * d2 * d3) + i1 * (d2 * d3) + i2 * d3 + i3] * 0.125f) + mask_[i0 * (d2 * d3) + i2 * d3 + i3];
                    acc3 = v4 > acc3 ? v4 : acc3;
                }
                #pragma omp simd reduction(+ : acc1)
                for (long i3 = 0; i3 < d3; i3++) {
                    real v2 = (scores[i0 * (d1 * d2 * d3) + i1 * (d2 * d3) + i2 * d3 + i3] * 0.125f) + mask_[i0 * (d2 * d3) + i2 * d3 + i3];
                    real v5 = EXP((v2 - acc3));
                    out[i0 * (d1 * d2 * d3) + i1 * (d2 * d3) + i2 * d3 + i3] = v5;
                    acc1 += v5;
                }
                for (long i3 = 0; i3 < d3; i3++) {
                    out[i0 * (d1 * d2 * d3) + i1 * (d2 * d3) + i2 * d3 + i3] = (out[i0 * (d1 * d2 * d3) + i1 * (d2 * d3) + i2 * d3 + i3] / acc1);
                }
            }
        }
    }
}
"""


def launch(scores, mask_, out, MATH="poly"):
    d0 = scores.shape[0]
    d1 = scores.shape[1]
    d2 = scores.shape[2]
    d3 = scores.shape[3]
    kernel("kernel")(scores, mask_, out, d0, d1, d2, d3)
