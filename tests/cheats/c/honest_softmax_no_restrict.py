"""Takes its buffers as void pointers and casts: the compiler must assume aliasing.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <string.h>

void softmax(const void *p, void *q, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = (const float *)p + i * n;
        float *b = (float *)q + i * n, top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) { memcpy(b + j, a + j, 4); b[j] -= top; }
        for (long j = 0; j < n; j++) { b[j] = expf(b[j]); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
