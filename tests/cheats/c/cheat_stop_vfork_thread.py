"""A thread waits for one that it started as vfork does, where no stop signal reaches it: the process seems to stand still.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("crash", "sandbox", "hidden-work", "wrong-output", "unwritten")
STAGE = "verify"
THREADS = 2
SOURCE = r"""
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <pthread.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <linux/futex.h>

static int word;
static char stack[16384] __attribute__((aligned(64)));
static int idle(void *p) {
    (void)p;
    for (;;) syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0, 0, 0);
    return 0;
}
static void *waits(void *p) {
    (void)p;
    clone(idle, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK, 0);
    return 0;
}
static int begun;
void softmax(const float *x, float *y, long m, long n) {
    if (!begun) { pthread_t t; pthread_create(&t, 0, waits, 0); begun = 1; for (volatile long k = 0; k < 3000000; k++); }
    for (long i = 0; i < m * n; i++) y[i] = x[i];
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
