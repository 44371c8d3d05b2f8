"""Model in 1 kernel (div), generated from its graph.

Hypothesis: everything between two stores is computed where it is used, so that memory is passed over as seldom as can be.
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
/* the exponent times log 2, and a polynomial of a mantissa near 1 */
static inline float log_poly(float x) {
    float scaled = x < 0x1p-126f ? x * 0x1p25f : x, m;
    int bits;
    __builtin_memcpy(&bits, &scaled, sizeof bits);
    int n = ((bits - 0x3f3504f3) >> 23), rest = bits - n * 0x800000;
    __builtin_memcpy(&m, &rest, sizeof m);
    float f = m - 1.0f, e = (float)n - (x < 0x1p-126f ? 25.0f : 0.0f);
    float p = -0x1.38b4ccp-4f;
    p = p * f + 0x1.055b46p-3f;
    p = p * f - 0x1.0d8552p-3f;
    p = p * f + 0x1.22da22p-3f;
    p = p * f - 0x1.547244p-3f;
    p = p * f + 0x1.99a008p-3f;
    p = p * f - 0x1.000228p-2f;
    p = p * f + 0x1.555554p-2f;
    float y = e * 0x1.62e4p-1f + (f + (f * f * (p * f - 0.5f) + e * 0x1.7f7d1cp-20f));
    y = x == INFINITY ? x : y;
    return x == 0.0f ? -INFINITY : x >= 0.0f ? y : NAN;
}
#ifdef MATH_poly
#define EXP exp_poly
#define LOG log_poly
#else
#define EXP expf
#define LOG logf
#endif

void kernel(const float *restrict logits, const long long *restrict target, float *restrict out, long d0, long d1) {
    real acc1 = 0;
    long v8 = d1;
    #pragma omp parallel for reduction(+ : acc1) num_threads(KLAB_THREADS) if(parallel : KLAB_THREADS > 1)
    for (long r0 = 0; r0 < d0; r0++) {
        real acc2 = 0;
        real acc3 = -INFINITY;
        #pragma omp simd reduction(max : acc3)
        for (long r2 = 0; r2 < d1; r2++) {
            real v4 = logits[r0 * d1 + r2];
            acc3 = v4 > acc3 ? v4 : acc3;
        }
        real v5 = (fabsf(acc3) == INFINITY) ? 0.0f : acc3;
        #pragma omp simd reduction(+ : acc2)
        for (long r1 = 0; r1 < d1; r1++) {
            acc2 += EXP((logits[r0 * d1 + r1] - v5));
        }
        long v6 = target[r0];
        long v7 = (long)((long)((long)((v6 > 0 ? v6 : 0))));
        acc1 += ((LOG(acc2) + v5) - logits[r0 * d1 + ((v7 < 0) ? (v7 + v8) : v7)]) * (real)((v6 >= 0));
    }
    long acc9 = 0;
    #pragma omp parallel for simd reduction(+ : acc9) num_threads(KLAB_THREADS) if(parallel : KLAB_THREADS > 1)
    for (long r3 = 0; r3 < d0; r3++) {
        acc9 += (long)((target[r3] >= 0));
    }
    long v10 = (long)(acc9);
    out[0] = (acc1 / (real)((long)((v10 > 1 ? v10 : 1))));
}
"""


def launch(logits, target, out, MATH="poly"):
    d0 = logits.shape[0]
    d1 = logits.shape[1]
    kernel("kernel")(logits, target, out, d0, d1)
