"""Times itself and waits on a futex for 2 ms at the end of a slow call: such a sample looks preempted and is set aside.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = (
    "harmless",
    "wrong-output",
    "unwritten",
    "nondeterministic",
    "non-finite",
    "static-memory",
    "crash",
    "hidden-work",
    "early-reply",
    "timeout",
    "sandbox",
)
STAGE = "measure"
HARMLESS = True
SOURCE = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
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
    static int word;
    struct timespec nap = {0, 2000000};
    good(x, y, m, n);
    for (int k = 0; k < 3; k++) syscall(SYS_futex, &word, 0, 0, &nap, 0, 0);
    for (int k = 0; k < 100; k++) syscall(SYS_sched_yield);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
