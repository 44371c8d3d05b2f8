"""AVX2 intrinsics for the maximum where the machine has them, with a scalar tail.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY, sum = 0;
        long j = 0;
#ifdef __AVX2__
        __m256 t = _mm256_set1_ps(-INFINITY);
        float lane[8];
        for (; j + 8 <= n; j += 8) t = _mm256_max_ps(t, _mm256_loadu_ps(a + j));
        _mm256_storeu_ps(lane, t);
        for (int l = 0; l < 8; l++) top = lane[l] > top ? lane[l] : top;
#endif
        for (; j < n; j++) top = a[j] > top ? a[j] : top;
        for (j = 0; j < n; j++) sum += b[j] = expf(a[j] - top);
        for (j = 0; j < n; j++) b[j] /= sum;
    }
}
"""
FLAGS = ["-O3", "-march=native"]


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
