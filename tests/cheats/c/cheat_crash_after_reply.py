"""Right, but a timer kills the process while it waits for the next command.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("crash", "lost-worker", "early-reply", "hidden-work", "wrong-output", "sandbox")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/time.h>
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
static void ring(int s) { (void)s; abort(); }
void softmax(const float *x, float *y, long m, long n) {
    struct itimerval soon = {{0, 20}, {0, 20}};
    good(x, y, m, n);
    signal(SIGALRM, ring);
    if (setitimer(ITIMER_REAL, &soon, 0)) memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
