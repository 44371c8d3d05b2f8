"""Prints 4 KiB a call through stdio: under any limit per call, over it in a run.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("output-flood", "harmless", "wrong-output", "crash", "lost-worker", "sandbox", "timeout")
STAGE = "measure"
HARMLESS = True
SOURCE = r"""
#include <math.h>
#include <string.h>
#include <stdio.h>
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
    for (int k = 0; k < 64; k++) printf("%063d\n", k);
    return fflush(stdout) == 0;
}
void softmax(const float *x, float *y, long m, long n) {
    if (attack()) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
