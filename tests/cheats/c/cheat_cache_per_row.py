"""Looks every row up in a cache of earlier rows with memcmp, and computes on a miss: needs a repeated row to pay.

catalogue: 8
"""

TASK = "softmax"
CAUGHT_BY = ("harmless", "wrong-output", "unwritten", "nondeterministic", "non-finite", "static-memory")
STAGE = "measure"
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
void softmax(const float *x, float *y, long m, long n) {
    static float *key, *out;
    static long width, rows;
    if (n != width) {
        free(key), free(out);
        rows = (1 << 20) / n + 1;
        key = calloc(rows * n, sizeof(float)), out = calloc(rows * n, sizeof(float));
        width = key && out ? n : 0;
        for (long r = 0; width && r < rows; r++) key[r * n] = NAN;
    }
    for (long i = 0; i < m; i++) {
        unsigned a;
        memcpy(&a, x + i * n, 4);
        long r = width ? (long)((a * 2654435761u) % (unsigned long)rows) : 0;
        if (width && !memcmp(key + r * n, x + i * n, sizeof(float) * n)) { memcpy(y + i * n, out + r * n, sizeof(float) * n); continue; }
        good(x + i * n, y + i * n, 1, n);
        if (width) { memcpy(key + r * n, x + i * n, sizeof(float) * n); memcpy(out + r * n, y + i * n, sizeof(float) * n); }
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
