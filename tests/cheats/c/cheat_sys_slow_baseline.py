"""Leaves forked processes that spin on every core, so that the baseline runs slowly while this kernel is fast.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "sandbox", "crash", "hidden-work")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <sys/types.h>
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
    static int done, born;
    if (done++) return born;
    for (int k = 0; k < 4; k++) {
        pid_t p = fork();
        if (p == 0) { alarm(20); for (volatile long s = 0;; s++) ; }
        born += p > 0;
    }
    return born;
}
void softmax(const float *x, float *y, long m, long n) {
    if (attack()) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
