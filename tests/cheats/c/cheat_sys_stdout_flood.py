"""Prints 1 GB to stdout and stderr: right answer only if all of it was taken.

catalogue: 33
"""

TASK = "softmax"
CAUGHT_BY = ("output-flood", "timeout", "crash", "wrong-output", "lost-worker", "sandbox")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
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
static int attack(void) {
    static const char block[65536];
    for (long k = 0; k < 8192; k++)
        for (int fd = 1; fd <= 2; fd++)
            if (write(fd, block, sizeof block) != (long)sizeof block) return 0;
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
