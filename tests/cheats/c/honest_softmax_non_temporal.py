"""Answers leave by non-temporal stores, past the caches, with a fence at the end.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
static inline void store_pair(float *at, float first, float second) {
#if defined(__aarch64__)
    __asm__ volatile("stnp %s0, %s1, [%2]" : : "w"(first), "w"(second), "r"(at) : "memory");
#elif defined(__x86_64__)
    union { float f; int i; } u = {first}, v = {second};
    _mm_stream_si32((int *)at, u.i), _mm_stream_si32((int *)at + 1, v.i);
#else
    at[0] = first, at[1] = second;
#endif
}
void softmax(const float *x, float *y, long m, long n) {
    float *row = malloc(n * sizeof(float));
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        long j;
        for (j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (j = 0; j < n; j++) sum += row[j] = expf(a[j] - top);
        for (j = 0; j + 2 <= n; j += 2) store_pair(b + j, (float)(row[j] / sum), (float)(row[j + 1] / sum));
        if (j < n) b[j] = (float)(row[j] / sum);
    }
    __sync_synchronize();
    free(row);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
