"""Stops the parent (SIGSTOP) so that the keeper of the clock sleeps.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "sandbox", "crash", "lost-worker", "timeout")
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
    if (p <= 1 || kill(p, SIGSTOP)) return 0;
    kill(p, SIGCONT);
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
