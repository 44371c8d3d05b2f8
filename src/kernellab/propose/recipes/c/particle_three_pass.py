"""Particle weights in three passes over the whole array: maximum, exponentials with their sums, normalisation; plain C.

Hypothesis: the textbook form, left to the vectoriser, is within a small factor of blocked variants while the arrays fit
the last-level cache. Refuted if keeping the log-weights (LOGS) or the blocking of the other recipes changes much.
"""

TASKS = ("particle_filter",)
FLAGS = [
    "-O{LEVEL}", "-fno-math-errno", "-fno-trapping-math", "-fassociative-math", "-fno-signed-zeros", "-freciprocal-math",
    "-ffinite-math-only", "-ffp-contract=fast",
]  # fmt: skip
SPACE = {
    "CHUNK": [1024, 4096, 16384],
    "EXP": ["poly", "libm"],
    "DEGREE": [5, 6],
    "LOGS": ["kept", "recomputed"],
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

#ifdef LOGS_kept
#define LOG(j) w[j]
#else
#define LOG(j) log_weight(x[j], lw[j], z[0])
#endif

static inline float log_weight(float x, float lw, float z) { float d = z - x; return lw - d * 0.5f * d; }

/* Chunks keep rounding errors small and the order of the sums the same for any number of threads */
void particle_weights(const float *restrict x, const float *restrict lw, const float *restrict z, float *restrict w,
                      float *restrict ess, float *restrict top, float *restrict sum, float *restrict square, long n, long chunks) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long k = 0; k < chunks; k++) {
        long first = k * CHUNK, end = n - first < CHUNK ? n : first + CHUNK;
        float high = log_weight(x[first], lw[first], z[0]);
        for (long j = first; j < end; j++) {
            float l = log_weight(x[j], lw[j], z[0]);
#ifdef LOGS_kept
            w[j] = l;
#endif
            high = l > high ? l : high;
        }
        top[k] = high;
    }
    float high = top[0];
    for (long k = 1; k < chunks; k++) high = top[k] > high ? top[k] : high;
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long k = 0; k < chunks; k++) {
        long first = k * CHUNK, end = n - first < CHUNK ? n : first + CHUNK;
        float s = 0, q = 0;
        for (long j = first; j < end; j++) {
            float e = EXP1(LOG(j) - high);
            w[j] = e;
            s += e;
            q += e * e;
        }
        sum[k] = s;
        square[k] = q;
    }
    double total = 0, squares = 0;
    for (long k = 0; k < chunks; k++) { total += sum[k]; squares += square[k]; }
    ess[0] = (float)(total * total / squares);
    float inverse = (float)(1 / total);
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long j = 0; j < n; j++) w[j] *= inverse;
}
"""


def launch(x, lw, z, w, ess, CHUNK=4096, EXP="poly", DEGREE=5, LOGS="kept", LEVEL=3):
    if EXP == "libm" and DEGREE != 5:
        raise ValueError("the degree of the polynomial does nothing to the library's expf")
    n = x.shape[0]
    chunks = -(-n // CHUNK)
    kernel("particle_weights")(x, lw, z, w, ess, scratch(chunks), scratch(chunks), scratch(chunks), n, chunks)
