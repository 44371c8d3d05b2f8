"""The row's length is a compile-time constant for the lengths named by a parameter, a variable for all others.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
static inline __attribute__((always_inline)) void rows(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - top); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
void softmax(const float *x, float *y, long m, long n) {
    if (n == LENGTH) rows(x, y, m, LENGTH);
    else if (n == 2 * LENGTH) rows(x, y, m, 2 * LENGTH);
    else rows(x, y, m, n);
}
"""
SPACE = {"LENGTH": [1024, 4096]}


def launch(x, y, LENGTH):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
