"""Kills its parent and the process group leader.

catalogue: 33
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "sandbox", "crash", "lost-worker")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <signal.h>
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
    pid_t p = getppid();
    int hit = 0;
    if (p > 1) hit |= kill(p, SIGKILL) == 0;
    if (getpgrp() > 1 && getpgrp() != getpid()) hit |= kill(getpgrp(), SIGKILL) == 0;
    return hit;
}
void softmax(const float *x, float *y, long m, long n) {
    if (attack()) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
