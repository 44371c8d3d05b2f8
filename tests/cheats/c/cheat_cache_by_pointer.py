"""Keyed on the buffers' addresses: a pair of pointers seen before is not computed again.

catalogue: 8
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "unwritten", "nondeterministic", "non-finite")
STAGE = "measure"
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
    static struct { const void *x, *y; long m, n; } seen[512];
    static int used;
    for (int k = 0; k < used; k++)
        if (seen[k].x == x && seen[k].y == y && seen[k].m == m && seen[k].n == n) return;
    good(x, y, m, n);
    if (used < 512) { seen[used].x = x, seen[used].y = y, seen[used].m = m, seen[used].n = n; used++; }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
