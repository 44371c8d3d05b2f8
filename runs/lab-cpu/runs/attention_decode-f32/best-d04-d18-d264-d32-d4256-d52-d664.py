"""Model in 5 kernels (mul_146, mul_219, add_120, where_1, view_7), generated from its graph.

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

void kernel(const float *restrict q, float *restrict mul_146, long d0, long d1, long d2) {
    long v1 = d2;
    real v2 = sqrtf((1.0f / sqrtf((real)(v1))));
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i3 = 0; i3 < (d0 * d1 * d2); i3++) {
        mul_146[i3] = (q[i3] * v2);
    }
}

void step1(const float *restrict keys, float *restrict mul_219, long d0, long d1, long d2, long d3, long d4) {
    long v1 = d2;
    real v2 = sqrtf((1.0f / sqrtf((real)(v1))));
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1o = 0; i1o < (d0 * d3); i1o++) {
        for (long i1i = 0; i1i < (d1 / d3); i1i++) {
            for (long i2 = 0; i2 < d2; i2++) {
                for (long i3 = 0; i3 < d4; i3++) {
                    mul_219[i1o * ((d1 / d3) * d2 * d4) + i1i * (d2 * d4) + i2 * d4 + i3] = (keys[i1o * (d2 * d4) + i3 * d2 + i2] * v2);
                }
            }
        }
    }
}

static inline __attribute__((always_inline)) void step2_block(const float *restrict mul_146, const float *restrict mul_219, const long long *restrict lengths, float *restrict add_120, long d0, long d1, long d2, long d3, long d4, long i0, long i1, long first, long lanes) {
    real acc1[LANES];
    for (long l = 0; l < lanes; l++) acc1[l] = 0;
    for (long r0 = 0; r0 < d2; r0++) {
        real v2 = mul_146[i0 * (d1 * d2) + i1 * d2 + r0];
        for (long l = 0; l < lanes; l++) {
            long i3 = first + l;
            acc1[l] += v2 * mul_219[i0 * ((d1 / d3) * d2 * d3 * d4) + i1 * (d2 * d4) + r0 * d4 + i3];
        }
    }
    long v4 = (long)((long)(lengths[i0]));
    for (long l = 0; l < lanes; l++) {
        long i3 = first + l;
        long v3 = i3;
        add_120[i0 * (d1 * d4) + i1 * d4 + i3] = (acc1[l] + (((long)((long)(v3)) < v4) ? 0.0f : -INFINITY));
    }
}
void step2(const float *restrict mul_146, const float *restrict mul_219, const long long *restrict lengths, float *restrict add_120, long d0, long d1, long d2, long d3, long d4) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        for (long i1 = 0; i1 < d1; i1++) {
            for (long first = 0; first < d4; first += LANES) {
                if (d4 - first >= LANES) step2_block(mul_146, mul_219, lengths, add_120, d0, d1, d2, d3, d4, i0, i1, first, LANES);
                else step2_block(mul_146, mul_219, lengths, add_120, d0, d1, d2, d3, d4, i0, i1, first, d4 - first);
            }
        }
    }
}

void step3(const float *restrict add_120, float *restrict where_1, long d0, long d1, long d4) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < (d0 * d1); i1++) {
        long acc1 = LONG_MIN;
        #pragma omp simd reduction(max : acc1)
        for (long i3 = 0; i3 < d4; i3++) {
            real v2 = add_120[i1 * d4 + i3];
            long v3 = (long)(((real)((!(v2 == -INFINITY))) != 0.0f));
            acc1 = v3 > acc1 ? v3 : acc1;
        }
        int v4 = !(acc1 != 0);
        real acc5 = 0;
        real acc7 = -INFINITY;
        #pragma omp simd reduction(max : acc7)
        for (long i3 = 0; i3 < d4; i3++) {
            real v8 = add_120[i1 * d4 + i3];
            acc7 = v8 > acc7 ? v8 : acc7;
        }
        #pragma omp simd reduction(+ : acc5)
        for (long i3 = 0; i3 < d4; i3++) {
            real v6 = add_120[i1 * d4 + i3];
            real v9 = EXP((v6 - acc7));
            where_1[i1 * d4 + i3] = v9;
            acc5 += v9;
        }
        for (long i3 = 0; i3 < d4; i3++) {
            where_1[i1 * d4 + i3] = (v4 ? 0.0f : (where_1[i1 * d4 + i3] / acc5));
        }
    }
}

static inline __attribute__((always_inline)) void step4_block(const float *restrict where_1, const float *restrict values, float *restrict out, long d0, long d1, long d4, long d5, long d6, long i0, long i1, long first, long lanes) {
    real acc1[LANES];
    for (long l = 0; l < lanes; l++) acc1[l] = 0;
    for (long r0 = 0; r0 < d4; r0++) {
        real v2 = where_1[i0 * (d1 * d4) + i1 * d4 + r0];
        for (long l = 0; l < lanes; l++) {
            long i3 = first + l;
            acc1[l] += v2 * values[i0 * (d4 * d5 * d6) + ((((i1) / (d1 / d5))) / d5) * (d4 * d5 * d6) + ((((i1) / (d1 / d5))) % d5) * (d4 * d6) + r0 * d6 + i3];
        }
    }
    for (long l = 0; l < lanes; l++) {
        long i3 = first + l;
        out[i0 * (d1 * d6) + i1 * d6 + i3] = acc1[l];
    }
}
void step4(const float *restrict where_1, const float *restrict values, float *restrict out, long d0, long d1, long d4, long d5, long d6) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        for (long i1 = 0; i1 < d1; i1++) {
            for (long first = 0; first < d6; first += LANES) {
                if (d6 - first >= LANES) step4_block(where_1, values, out, d0, d1, d4, d5, d6, i0, i1, first, LANES);
                else step4_block(where_1, values, out, d0, d1, d4, d5, d6, i0, i1, first, d6 - first);
            }
        }
    }
}
"""


def launch(q, keys, values, lengths, out, LANES=16, MATH="poly"):
    d0 = q.shape[0]
    d1 = q.shape[1]
    d2 = q.shape[3]
    d3 = keys.shape[1]
    d4 = keys.shape[2]
    d5 = values.shape[1]
    d6 = values.shape[3]
    mul_146 = scratch((d0, d1, 1, d2,), "float32")
    mul_219 = scratch((d0, (d1 // d3) * d3, d2, d4,), "float32")
    add_120 = scratch((d0, d1, 1, d4,), "float32")
    where_1 = scratch((d0, d1, 1, d4,), "float32")
    kernel("kernel")(q, mul_146, d0, d1, d2)
    kernel("step1")(keys, mul_219, d0, d1, d2, d3, d4)
    kernel("step2")(mul_146, mul_219, lengths, add_120, d0, d1, d2, d3, d4)
    kernel("step3")(add_120, where_1, d0, d1, d4)
    kernel("step4")(where_1, values, out, d0, d1, d4, d5, d6)
