"""Model in 6 kernels (permute, mm, _softmax, topk, topk_1, div), generated from its graph.

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

void kernel(const float *restrict router_weight, float *restrict permute) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < 256; i0++) {
        for (long i1 = 0; i1 < 16; i1++) {
            permute[i0 * 16 + i1] = router_weight[i1 * 256 + i0];
        }
    }
}

static inline __attribute__((always_inline)) void step1_block(const float *restrict x, const float *restrict permute, float *restrict mm, long d0, long i0, long first, long lanes) {
    real acc1[LANES];
    for (long l = 0; l < lanes; l++) acc1[l] = 0;
    for (long r0 = 0; r0 < 256; r0++) {
        real v2 = x[i0 * 256 + r0];
        for (long l = 0; l < lanes; l++) {
            long i1 = first + l;
            acc1[l] += v2 * permute[r0 * 16 + i1];
        }
    }
    for (long l = 0; l < lanes; l++) {
        long i1 = first + l;
        mm[i0 * 16 + i1] = acc1[l];
    }
}
void step1(const float *restrict x, const float *restrict permute, float *restrict mm, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        for (long first = 0; first < 16; first += LANES) {
            if (16 - first >= LANES) step1_block(x, permute, mm, d0, i0, first, LANES);
            else step1_block(x, permute, mm, d0, i0, first, 16 - first);
        }
    }
}

void step2(const float *restrict mm, float *restrict softmax, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        real acc1 = 0;
        real acc3 = -INFINITY;
        #pragma omp simd reduction(max : acc3)
        for (long i1 = 0; i1 < 16; i1++) {
            real v4 = mm[i0 * 16 + i1];
            acc3 = v4 > acc3 ? v4 : acc3;
        }
        #pragma omp simd reduction(+ : acc1)
        for (long i1 = 0; i1 < 16; i1++) {
            real v2 = mm[i0 * 16 + i1];
            real v5 = EXP((v2 - acc3));
            softmax[i0 * 16 + i1] = v5;
            acc1 += v5;
        }
        for (long i1 = 0; i1 < 16; i1++) {
            softmax[i0 * 16 + i1] = (softmax[i0 * 16 + i1] / acc1);
        }
    }
}

void step3(const float *restrict softmax, float *restrict topk, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        real acc2 = -INFINITY;
        long at3 = 0;
        for (long r0 = 0; r0 < 16; r0++) {
            real v4 = softmax[i0 * 16 + r0];
            if (v4 > acc2) { acc2 = v4; at3 = r0; }
        }
        real acc5 = -INFINITY;
        long at6 = 0;
        for (long r1 = 0; r1 < 16; r1++) {
            long v7 = r1;
            real v8 = (v7 == at3) ? -INFINITY : softmax[i0 * 16 + r1];
            if (v8 > acc5) { acc5 = v8; at6 = r1; }
        }
        for (long i1 = 0; i1 < 2; i1++) {
            long v1 = i1;
            topk[i0 * 2 + i1] = softmax[i0 * 16 + ((v1 == 0) ? at3 : at6)];
        }
    }
}

void step4(const float *restrict softmax, long long *restrict out1, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        real acc2 = -INFINITY;
        long at3 = 0;
        for (long r0 = 0; r0 < 16; r0++) {
            real v4 = softmax[i0 * 16 + r0];
            if (v4 > acc2) { acc2 = v4; at3 = r0; }
        }
        real acc5 = -INFINITY;
        long at6 = 0;
        for (long r1 = 0; r1 < 16; r1++) {
            long v7 = r1;
            real v8 = (v7 == at3) ? -INFINITY : softmax[i0 * 16 + r1];
            if (v8 > acc5) { acc5 = v8; at6 = r1; }
        }
        for (long i1 = 0; i1 < 2; i1++) {
            long v1 = i1;
            out1[i0 * 2 + i1] = (long)(((v1 == 0) ? at3 : at6));
        }
    }
}

void step5(const float *restrict topk, float *restrict out, long d0) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i0 = 0; i0 < d0; i0++) {
        real acc1 = 0;
        #pragma omp simd reduction(+ : acc1)
        for (long r0 = 0; r0 < 2; r0++) {
            acc1 += topk[i0 * 2 + r0];
        }
        for (long i1 = 0; i1 < 2; i1++) {
            out[i0 * 2 + i1] = (topk[i0 * 2 + i1] / acc1);
        }
    }
}
"""


def launch(router_weight, x, out, out1, LANES=16, MATH="poly"):
    d0 = x.shape[0]
    permute = scratch((256, 16,), "float32")
    mm = scratch((d0, 16,), "float32")
    softmax = scratch((d0, 16,), "float32")
    topk = scratch((d0, 2,), "float32")
    kernel("kernel")(router_weight, permute)
    kernel("step1")(x, permute, mm, d0)
    kernel("step2")(mm, softmax, d0)
    kernel("step3")(softmax, topk, d0)
    kernel("step4")(softmax, out1, d0)
    kernel("step5")(topk, out, d0)
