"""bfloat16 taken apart and rounded by hand with integer operations, float32 in between.

catalogue: control
"""

TASK = "softmax_bf16"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
typedef unsigned short bf16;
static float wide(bf16 v) { union { unsigned i; float f; } u = {(unsigned)v << 16}; return u.f; }
static bf16 narrow(float v) {
    union { float f; unsigned i; } u = {v};
    return (bf16)((u.i + 0x7fff + (u.i >> 16 & 1)) >> 16);
}
void softmax(const bf16 *x, bf16 *y, long m, long n) {
    float *row = malloc(n * sizeof(float));
    for (long i = 0; i < m; i++) {
        float top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) row[j] = wide(x[i * n + j]), top = fmaxf(top, row[j]);
        for (long j = 0; j < n; j++) sum += row[j] = expf(row[j] - top);
        for (long j = 0; j < n; j++) y[i * n + j] = narrow((float)(row[j] / sum));
    }
    free(row);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
