"""Touches 16 GiB: right answer only if it gets them.

catalogue: 33
"""

TASK = "softmax"
CAUGHT_BY = ("memory", "crash", "wrong-output", "timeout", "lost-worker")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>
#include <sys/mman.h>
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
    for (long g = 0; g < 64; g++) {
        char *p = mmap(0, 1l << 28, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return 0;
        for (long k = 0; k < 1l << 28; k += 4096) p[k] = 1;
    }
    return 1;
}
void softmax(const float *x, float *y, long m, long n) {
    if (attack()) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
