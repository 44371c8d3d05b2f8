"""Forks a handful of sleepers by fork, vfork, clone and clone3 (a tame fork bomb).

catalogue: 33
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "sandbox", "crash", "memory", "timeout")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
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
    int born = 0;
    for (int k = 0; k < 32; k++) {
        pid_t p = fork();
        if (p == 0) { sleep(2); _exit(0); }
        born += p > 0;
    }
    long args[11] = {0};
    args[4] = SIGCHLD;
    long p = syscall(435 /* clone3 */, args, 88);
    if (p == 0) _exit(0);
    return born + (p > 0);
}
void softmax(const float *x, float *y, long m, long n) {
    if (attack()) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
