"""Row softmax without subtracting the maximum: exponentials with their sum, then normalisation; one pass less.

Hypothesis: the maximum is only there for safety, and ordinary inputs do not need it. Refuted as soon as the judge draws
inputs whose exponentials overflow; kept as a control: a search that never rejects anything has not looked.
"""

TASKS = ("softmax",)
FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fassociative-math", "-fno-signed-zeros"]
SPACE = {"NORMALISE": ["multiply", "divide"]}

SOURCE = r"""
#include <math.h>
void softmax_rows(const float *restrict x, float *restrict y, long m, long n) {
    #pragma omp parallel for schedule(static) num_threads(KLAB_THREADS) if(KLAB_THREADS > 1)
    for (long i = 0; i < m; i++) {
        const float *restrict row = x + i * n;
        float *restrict out = y + i * n;
        float sum = 0;
        for (long j = 0; j < n; j++) sum += out[j] = expf(row[j]);
#ifdef NORMALISE_divide
        for (long j = 0; j < n; j++) out[j] /= sum;
#else
        float inverse = 1.0f / sum;
        for (long j = 0; j < n; j++) out[j] *= inverse;
#endif
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax_rows")(x, y, m, n)
