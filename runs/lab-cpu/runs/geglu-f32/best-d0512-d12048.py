"""Model in 1 kernel (mul_15), generated from its graph.

Hypothesis: everything between two stores is computed where it is used, so that memory is passed over as seldom as can be.
"""

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"]
SPACE = {"MATH": ["poly", "libm"]}

SOURCE = r"""
#include <limits.h>
#include <math.h>

typedef float real;

/* x times a quotient of polynomials of x^2; from 3.9 on it is 1 */
static inline float erf_poly(float x) {
    float c = x > 3.9f ? 3.9f : x < -3.9f ? -3.9f : x, s = c * c;
    float p = 0x1.141596p-19f, q = 0x1.4029c2p-15f;
    p = p * s + 0x1.2acacp-12f;
    q = q * s + 0x1.302a5p-10f;
    p = p * s + 0x1.ec0766p-9f;
    q = q * s + 0x1.e9bc8ap-7f;
    p = p * s + 0x1.afd52cp-5f;
    q = q * s + 0x1.d2e178p-4f;
    p = p * s + 0x1.854d9ap-3f;
    q = q * s + 0x1.00eb4ap-1f;
    p = p * s + 0x1.20dd74p+0f;
    q = q * s + 1.0f;
    return x > 3.9f ? 1.0f : x < -3.9f ? -1.0f : c * p / q;
}
#ifdef MATH_poly
#define ERF erf_poly
#else
#define ERF erff
#endif

void kernel(const float *restrict x, float *restrict out, long d0, long d1) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        for (long i1 = 0; i1 < ((1 + d1) / 2); i1++) {
            real v1 = x[i0 * d1 + i1 + ((1 + d1) / 2)];
            out[i0 * ((1 + d1) / 2) + i1] = (x[i0 * d1 + i1] * ((0.5f * v1) * (1.0f + ERF((v1 * 0.7071067811865476f)))));
        }
    }
}
"""


def launch(x, out, MATH="poly"):
    d0 = x.shape[0]
    d1 = x.shape[1]
    kernel("kernel")(x, out, d0, d1)
