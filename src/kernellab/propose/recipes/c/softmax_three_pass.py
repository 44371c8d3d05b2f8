"""Row softmax as in the textbook: maximum, exponentials with their sum, normalisation; plain C for the vectoriser.

Hypothesis: with a branch-free polynomial the compiler vectorises all three loops, and what hand-placed vectors add is
small. Refuted if hand-placed vectors are clearly faster, or if the library's expf is as fast.
"""

TASKS = ("softmax",)
FLAGS = [
    "-O{LEVEL}", "-fno-math-errno", "-fno-trapping-math", "-fassociative-math", "-fno-signed-zeros", "-freciprocal-math",
    "-ffinite-math-only", "-ffp-contract=fast",
]  # fmt: skip
SPACE = {
    "EXP": ["poly", "libm"],
    "DEGREE": [5, 6],
    "NORMALISE": ["multiply", "divide"],
    "KEEP": ["output", "stack"],
    "LEVEL": [2, 3],
}

SOURCE = r"""
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

#define ROOM 8192 /* floats a row may have where its exponentials are kept on the stack */
#define CHUNK 1024 /* sums of sums keep the rounding error of a long row small */

void softmax_rows(const float *restrict x, float *restrict y, long m, long n) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i = 0; i < m; i++) {
        const float *restrict row = x + i * n;
        float *restrict out = y + i * n;
#ifdef KEEP_stack
        float e[ROOM];
#else
        float *restrict e = out;
#endif
        float high = row[0], sum = 0;
        for (long j = 0; j < n; j++) high = row[j] > high ? row[j] : high;
        for (long first = 0; first < n; first += CHUNK) {
            long end = n - first < CHUNK ? n : first + CHUNK;
            float part = 0;
            for (long j = first; j < end; j++) {
                e[j] = EXP1(row[j] - high);
                part += e[j];
            }
            sum += part;
        }
#ifdef NORMALISE_divide
        for (long j = 0; j < n; j++) out[j] = e[j] / sum;
#else
        float inverse = 1.0f / sum;
        for (long j = 0; j < n; j++) out[j] = e[j] * inverse;
#endif
    }
}
"""


def launch(x, y, EXP="poly", DEGREE=5, NORMALISE="multiply", KEEP="output", LEVEL=3):
    m, n = x.shape
    if EXP == "libm" and DEGREE != 5:
        raise ValueError("the degree of the polynomial does nothing to the library's expf")
    if KEEP == "stack" and n > 8192:
        raise ValueError("a row of more than 8192 exponentials is too much for the stack")
    kernel("softmax_rows")(x, y, m, n)
