"""A parameter that only SOURCE knows: launch() does not take it.

catalogue: control
"""

TASK = "softmax"
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
#ifndef ROWS
#define ROWS 1
#endif
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i += ROWS) good(x + i * n, y + i * n, i + ROWS < m ? ROWS : m - i, n);
}
"""
SPACE = {"ROWS": [1, 2, 4]}


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
