"""Model in 12 kernels (mul_13, mm, mul_101, mul_114, add_127, where_1, bmm_1, add_178, mul_248, mm_2, mul_279, add_231), generated from its graph.

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
#ifdef MATH_poly
#define EXP exp_poly
#else
#define EXP expf
#endif

void kernel(const float *restrict x, const float *restrict norms_0_weight, float *restrict mul_13, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < d0; i1++) {
        real acc1 = 0;
        #pragma omp simd reduction(+ : acc1)
        for (long r0 = 0; r0 < 96; r0++) {
            real v2 = x[i1 * 96 + r0];
            acc1 += v2 * v2;
        }
        real v3 = 1 / sqrtf(((acc1 / 96.0f) + 1e-06f));
        for (long i2 = 0; i2 < 96; i2++) {
            mul_13[i1 * 96 + i2] = ((x[i1 * 96 + i2] * v3) * norms_0_weight[i2]);
        }
    }
}

void step1(const float *restrict mul_13, const float *restrict qkv_weight, float *restrict mm, long d0) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        for (long i1 = 0; i1 < 288; i1++) {
            real acc1 = 0;
            #pragma omp simd reduction(+ : acc1)
            for (long r0 = 0; r0 < 96; r0++) {
                acc1 += mul_13[i0 * 96 + r0] * qkv_weight[i1 * 96 + r0];
            }
            mm[i0 * 288 + i1] = acc1;
        }
    }
}

void step2(const float *restrict mm, const float *restrict cos_, const float *restrict sin_, float *restrict mul_101, long d0) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < 4; i1++) {
        for (long i2 = 0; i2 < d0; i2++) {
            for (long i3 = 0; i3 < 24; i3++) {
                real v1;
                if ((unsigned long)(i3) < (unsigned long)12) {
                    v1 = -mm[i2 * 288 + i1 * 24 + i3 + 12];
                }
                else {
                    v1 = mm[((i2 + ((i1 * 24 + i3 - 12) / 288)) / d0) * (288 * d0) + ((i2 + ((i1 * 24 + i3 - 12) / 288)) % d0) * 288 + ((i1 * 24 + i3 - 12) % 288)];
                }
                mul_101[i1 * (24 * d0) + i2 * 24 + i3] = (((mm[i2 * 288 + i1 * 24 + i3] * cos_[i2 * 24 + i3]) + (v1 * sin_[i2 * 24 + i3])) * 0.45180100180492244f);
            }
        }
    }
}

void step3(const float *restrict mm, const float *restrict cos_, const float *restrict sin_, float *restrict mul_114, long d0) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < 4; i1++) {
        for (long i2 = 0; i2 < 24; i2++) {
            for (long i3 = 0; i3 < d0; i3++) {
                real v1;
                if ((unsigned long)(i2) < (unsigned long)12) {
                    v1 = -mm[i3 * 288 + i1 * 24 + i2 + 108];
                }
                else {
                    v1 = mm[i3 * 288 + i1 * 24 + i2 + 84];
                }
                mul_114[i1 * (24 * d0) + i2 * d0 + i3] = (((mm[i3 * 288 + i1 * 24 + i2 + 96] * cos_[i3 * 24 + i2]) + (v1 * sin_[i3 * 24 + i2])) * 0.45180100180492244f);
            }
        }
    }
}

void step4(const float *restrict mul_101, const float *restrict mul_114, float *restrict add_127, long d0) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < 4; i1++) {
        for (long i2 = 0; i2 < d0; i2++) {
            long v3 = i2;
            long v4 = (long)((long)((long)(v3)));
            for (long i3 = 0; i3 < d0; i3++) {
                real acc1 = 0;
                #pragma omp simd reduction(+ : acc1)
                for (long r0 = 0; r0 < 24; r0++) {
                    acc1 += mul_101[i1 * (24 * d0) + i2 * 24 + r0] * mul_114[i1 * (24 * d0) + r0 * d0 + i3];
                }
                long v2 = i3;
                add_127[i1 * (d0 * d0) + i2 * d0 + i3] = (acc1 + ((((long)(((long)((long)((long)(v2))) - v4)) <= 0) && 1) ? 0.0f : -INFINITY));
            }
        }
    }
}

void step5(const float *restrict add_127, float *restrict where_1, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i2 = 0; i2 < (4 * d0); i2++) {
        long acc1 = LONG_MIN;
        #pragma omp simd reduction(max : acc1)
        for (long r2 = 0; r2 < d0; r2++) {
            long v2 = (long)(((real)((!(add_127[i2 * d0 + r2] == -INFINITY))) != 0.0f));
            acc1 = v2 > acc1 ? v2 : acc1;
        }
        int v3 = !(acc1 != 0);
        real acc4 = -INFINITY;
        #pragma omp simd reduction(max : acc4)
        for (long r0 = 0; r0 < d0; r0++) {
            real v5 = add_127[i2 * d0 + r0];
            acc4 = v5 > acc4 ? v5 : acc4;
        }
        real acc6 = 0;
        #pragma omp simd reduction(+ : acc6)
        for (long r1 = 0; r1 < d0; r1++) {
            acc6 += EXP((add_127[i2 * d0 + r1] - acc4));
        }
        for (long i3 = 0; i3 < d0; i3++) {
            where_1[i2 * d0 + i3] = (v3 ? 0.0f : (EXP((add_127[i2 * d0 + i3] - acc4)) / acc6));
        }
    }
}

void step6(const float *restrict where_1, const float *restrict mm, float *restrict bmm_1, long d0) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < 4; i0++) {
        for (long i1 = 0; i1 < d0; i1++) {
            for (long i2 = 0; i2 < 24; i2++) {
                real acc1 = 0;
                #pragma omp simd reduction(+ : acc1)
                for (long r0 = 0; r0 < d0; r0++) {
                    acc1 += where_1[i0 * (d0 * d0) + i1 * d0 + r0] * mm[r0 * 288 + i0 * 24 + i2 + 192];
                }
                bmm_1[i0 * (24 * d0) + i1 * 24 + i2] = acc1;
            }
        }
    }
}

void step7(const float *restrict x, const float *restrict bmm_1, const float *restrict out_weight, float *restrict add_178, long d0) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < d0; i1++) {
        for (long i2 = 0; i2 < 96; i2++) {
            real acc1 = 0;
            for (long r0o = 0; r0o < 4; r0o++) {
                real acc2 = 0;
                #pragma omp simd reduction(+ : acc2)
                for (long r0i = 0; r0i < 24; r0i++) {
                    acc2 += bmm_1[r0o * (24 * d0) + i1 * 24 + r0i] * out_weight[i2 * 96 + r0o * 24 + r0i];
                }
                acc1 += acc2;
            }
            add_178[i1 * 96 + i2] = (x[i1 * 96 + i2] + acc1);
        }
    }
}

void step8(const float *restrict add_178, const float *restrict norms_1_weight, float *restrict mul_248, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < d0; i1++) {
        real acc1 = 0;
        #pragma omp simd reduction(+ : acc1)
        for (long r0 = 0; r0 < 96; r0++) {
            real v2 = add_178[i1 * 96 + r0];
            acc1 += v2 * v2;
        }
        real v3 = 1 / sqrtf(((acc1 / 96.0f) + 1e-06f));
        for (long i2 = 0; i2 < 96; i2++) {
            mul_248[i1 * 96 + i2] = ((add_178[i1 * 96 + i2] * v3) * norms_1_weight[i2]);
        }
    }
}

void step9(const float *restrict mul_248, const float *restrict up_weight, float *restrict mm_2, long d0) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        for (long i1 = 0; i1 < 512; i1++) {
            real acc1 = 0;
            #pragma omp simd reduction(+ : acc1)
            for (long r0 = 0; r0 < 96; r0++) {
                acc1 += mul_248[i0 * 96 + r0] * up_weight[i1 * 96 + r0];
            }
            mm_2[i0 * 512 + i1] = acc1;
        }
    }
}

void step10(const float *restrict mm_2, float *restrict mul_279, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < d0; i1++) {
        for (long i2 = 0; i2 < 256; i2++) {
            real v1 = mm_2[i1 * 512 + i2];
            mul_279[i1 * 256 + i2] = ((v1 * (1.0f / (1.0f + EXP((-v1))))) * mm_2[i1 * 512 + i2 + 256]);
        }
    }
}

void step11(const float *restrict add_178, const float *restrict mul_279, const float *restrict down_weight, float *restrict out, long d0) {
    #pragma omp parallel for schedule(static) collapse(2) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i1 = 0; i1 < d0; i1++) {
        for (long i2 = 0; i2 < 96; i2++) {
            real acc1 = 0;
            #pragma omp simd reduction(+ : acc1)
            for (long r0 = 0; r0 < 256; r0++) {
                acc1 += mul_279[i1 * 256 + r0] * down_weight[i2 * 256 + r0];
            }
            out[i1 * 96 + i2] = (add_178[i1 * 96 + i2] + acc1);
        }
    }
}
"""


def launch(norms_0_weight, norms_1_weight, qkv_weight, out_weight, up_weight, down_weight, x, cos_, sin_, out, MATH="poly"):
    d0 = x.shape[1]
    mul_13 = scratch((1, d0, 96,), "float32")
    mm = scratch((d0, 288,), "float32")
    mul_101 = scratch((1, 4, d0, 24,), "float32")
    mul_114 = scratch((1, 4, 24, d0,), "float32")
    add_127 = scratch((1, 4, d0, d0,), "float32")
    where_1 = scratch((1, 4, d0, d0,), "float32")
    bmm_1 = scratch((4, d0, 24,), "float32")
    add_178 = scratch((1, d0, 96,), "float32")
    mul_248 = scratch((1, d0, 96,), "float32")
    mm_2 = scratch((d0, 512,), "float32")
    mul_279 = scratch((1, d0, 256,), "float32")
    kernel("kernel")(x, norms_0_weight, mul_13, d0)
    kernel("step1")(mul_13, qkv_weight, mm, d0)
    kernel("step2")(mm, cos_, sin_, mul_101, d0)
    kernel("step3")(mm, cos_, sin_, mul_114, d0)
    kernel("step4")(mul_101, mul_114, add_127, d0)
    kernel("step5")(add_127, where_1, d0)
    kernel("step6")(where_1, mm, bmm_1, d0)
    kernel("step7")(x, bmm_1, out_weight, add_178, d0)
    kernel("step8")(add_178, norms_1_weight, mul_248, d0)
    kernel("step9")(mul_248, up_weight, mm_2, d0)
    kernel("step10")(mm_2, mul_279, d0)
    kernel("step11")(add_178, mul_279, down_weight, out, d0)
