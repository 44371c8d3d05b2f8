"""setitimer: the work is done by a SIGALRM handler half a millisecond after the return.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = (
    "unwritten",
    "wrong-output",
    "non-finite",
    "nondeterministic",
    "early-reply",
    "hidden-work",
    "sandbox",
    "crash",
)
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
static struct { const float *x; float *y; long m, n; } todo;
static void ring(int s) { (void)s; good(todo.x, todo.y, todo.m, todo.n); }
void softmax(const float *x, float *y, long m, long n) {
    struct itimerval soon = {{0, 0}, {0, 500}};
    todo.x = x, todo.y = y, todo.m = m, todo.n = n;
    signal(SIGALRM, ring);
    setitimer(ITIMER_REAL, &soon, 0);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
