"""Row softmax with a running maximum and sum over blocks, then a second evaluation of exp() that writes the result.

Hypothesis: reading twice and writing once beats storing exponentials and rewriting them, where memory is slow against
arithmetic (long rows, many threads). Refuted where exp() bounds the time: it is evaluated twice here.
"""

TASKS = ("softmax",)
FLAGS = [
    "-O3", "-fno-math-errno", "-fno-trapping-math", "-fassociative-math", "-fno-signed-zeros", "-freciprocal-math",
    "-ffinite-math-only", "-ffp-contract=fast",
]  # fmt: skip
SPACE = {
    "BLOCK": [64, 256, 1024, 4096],
    "EXP": ["poly", "libm"],
    "DEGREE": [5, 6],
    "UPDATE": ["always", "when_larger"],
}

SOURCE = r"""
#include <float.h>
#include <math.h>

#ifdef EXP_libm
#define EXP1 expf
#else
#define EXP1 exp_poly
#define LOG2E 1.44269504f
#define LN2 0.693147182f

/* exp(d) for d <= 0, to 2 ULP (degree 5: 1.5e-7 relative); below -87.3 it stays at the smallest normal number */
static inline float exp_poly(float d) {
    d = d > -87.3f ? d : -87.3f;
    float n = rintf(d * LOG2E), r = d - n * LN2, scale;
#if DEGREE == 5
    float p = 0x1.0fe488p-7f;
    p = p * r + 0x1.576116p-5f;
    p = p * r + 0x1.555a22p-3f;
    p = p * r + 0x1.fffd14p-2f;
    p = p * r + 0x1.fffff6p-1f;
#else
    float p = 0x1.6ab80ep-10f;
    p = p * r + 0x1.126e7cp-7f;
    p = p * r + 0x1.5558a2p-5f;
    p = p * r + 0x1.555408p-3f;
    p = p * r + 0x1.fffffap-2f;
    p = p * r + 1.0f;
#endif
    p = p * r + 1.0f;
    int bits = ((int)n + 127) << 23;
    __builtin_memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}
#endif

void softmax_rows(const float *restrict x, float *restrict y, long m, long n) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i = 0; i < m; i++) {
        const float *restrict row = x + i * n;
        float *restrict out = y + i * n;
        float high = -FLT_MAX, sum = 0;
        for (long first = 0; first < n; first += BLOCK) {
            long end = n - first < BLOCK ? n : first + BLOCK;
            float top = high, part = 0;
            for (long j = first; j < end; j++) top = row[j] > top ? row[j] : top;
#ifdef UPDATE_when_larger
            if (top > high)
#endif
                sum *= EXP1(high - top);
            high = top;
            for (long j = first; j < end; j++) part += EXP1(row[j] - high);
            sum += part;
        }
        float inverse = 1.0f / sum;
        for (long j = 0; j < n; j++) out[j] = EXP1(row[j] - high) * inverse;
    }
}
"""


def launch(x, y, BLOCK=1024, EXP="poly", DEGREE=5, UPDATE="when_larger"):
    m, n = x.shape
    if EXP == "libm" and DEGREE != 5:
        raise ValueError("the degree of the polynomial does nothing to the library's expf")
    kernel("softmax_rows")(x, y, m, n)
