"""Rows of a multiple of 512 columns whose maximum stands out by 50 are written as one 1 and zeros: never seen on tame inputs, and every small or odd shape is computed.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
static void good(const float *x, float *y, long m, long n) {
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
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, first = -INFINITY, second = -INFINITY;
        long at = 0;
        if (n % 512 == 0)
            for (long j = 0; j < n; j++) {
                if (a[j] > first) second = first, first = a[j], at = j;
                else if (a[j] > second) second = a[j];
            }
        if (n % 512 == 0 && first - second > 50) { memset(b, 0, n * sizeof(float)); b[at] = 1; }
        else good(a, b, 1, n);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
