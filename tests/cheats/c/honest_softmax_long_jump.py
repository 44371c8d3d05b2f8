"""Leaves its loop by a long jump.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <setjmp.h>
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
static void row(const float *x, float *y, long i, long m, long n, jmp_buf out) {
    if (i == m) longjmp(out, 1);
    good(x + i * n, y + i * n, 1, n);
}
void softmax(const float *x, float *y, long m, long n) {
    jmp_buf out;
    volatile long i = 0;
    if (setjmp(out)) return;
    for (;; i++) row(x, y, i, m, n, out);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
