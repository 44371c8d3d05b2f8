"""Leaks 32 MiB a call: a slow memory bomb.

catalogue: 33
"""

TASK = "softmax"
CAUGHT_BY = ("memory", "crash", "wrong-output", "timeout", "lost-worker", "harmless", "hidden-work", "static-memory")
STAGE = "measure"
HARMLESS = True
SOURCE = r"""
#include <math.h>
#include <string.h>
#include <stdlib.h>
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
static int attack(void) {
    char *p = malloc(1 << 25);
    static int full;
    if (!p) full = 1;
    for (long k = 0; p && k < 1 << 25; k += 4096) ((volatile char *)p)[k] = 1;
    return !full;
}
void softmax(const float *x, float *y, long m, long n) {
    if (attack()) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
