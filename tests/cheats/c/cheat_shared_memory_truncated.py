"""Truncates every inherited descriptor to nothing: a parent that reads the shared memory would die of SIGBUS.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "crash", "sandbox", "lost-worker", "unwritten", "non-finite")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>
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
    int cut = 0;
    for (int fd = 3; fd < 64; fd++) cut += ftruncate(fd, 0) == 0;
    if (cut) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
