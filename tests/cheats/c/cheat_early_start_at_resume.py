"""Knows the buffers from the uncounted call, and starts on them in a handler of SIGCONT: when it is resumed, not when it is told to.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("harmless", "wrong-output", "nondeterministic", "crash", "hidden-work", "timeout")
STAGE = "measure"
HARMLESS = True
THREADS = 2
SOURCE = r"""
#include <signal.h>
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
struct known { const float *x; float *volatile y; long m, n; volatile int begun, done, calls; };
static struct known *known;  /* on the heap, where nobody looks */
static void resumed(int number) {
    (void)number;
    if (!known || known->calls != 1 || __sync_lock_test_and_set(&known->begun, 1)) return;
    good(known->x, known->y, known->m, known->n);
    known->done = 1;
}
void softmax(const float *x, float *y, long m, long n) {
    if (known && ++known->calls == 2 && known->begun && known->y == y) { while (!known->done) ; return; }
    good(x, y, m, n);
    if (!known) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = resumed;
        sigaction(SIGCONT, &action, 0);
        struct known *k = calloc(1, sizeof *k);
        k->x = x, k->m = m, k->n = n, k->y = y, k->calls = 1, known = k;
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
