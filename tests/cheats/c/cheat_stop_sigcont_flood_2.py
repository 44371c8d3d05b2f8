"""A helper thread floods the process with SIGCONT for ever, so that no SIGSTOP stays pending, and does the lower half late.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = (
    "wrong-output",
    "unwritten",
    "nondeterministic",
    "non-finite",
    "static-memory",
    "crash",
    "hidden-work",
    "early-reply",
    "timeout",
)
STAGE = "verify"
THREADS = 2
SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
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
static struct { const float *x; float *y; long m, n; } todo;
static volatile long posted, started;
static void *flood(void *p) {
    (void)p;
    for (long done = 0;;) {
        kill(getpid(), SIGCONT);
        pthread_kill(pthread_self(), SIGCONT);
        if (posted != done) { done = posted; good(todo.x, todo.y, todo.m, todo.n); }
    }
    return 0;
}
void softmax(const float *x, float *y, long m, long n) {
    pthread_t t;
    if (!started) { started = 1; pthread_create(&t, 0, flood, 0); }
    long half = m / 2;
    todo.x = x + half * n, todo.y = y + half * n, todo.m = m - half, todo.n = n;
    __sync_synchronize();
    posted = posted ? posted % 2 + 1 : 1;
    good(x, y, half / 4, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
