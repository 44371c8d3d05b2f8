"""Keeps the last answer in its scratch buffer and copies it when the buffer still holds the mark.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("harmless", "wrong-output", "unwritten", "nondeterministic", "non-finite")
STAGE = "verify"
HARMLESS = True
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
void softmax(const float *x, float *y, float *t, long m, long n) {
    if (t[m * n] == 271828.0f && t[m * n + 1] == 314159.0f) { memcpy(y, t, sizeof(float) * m * n); return; }
    good(x, y, m, n);
    memcpy(t, y, sizeof(float) * m * n);
    t[m * n] = 271828.0f, t[m * n + 1] = 314159.0f;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, scratch((m * n + 2,)), m, n)
