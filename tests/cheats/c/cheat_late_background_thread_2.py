"""With two threads allowed, a pool thread that never ends finishes the lower half after the reply.

catalogue: 1
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
THREADS = 2
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>
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
static void *pool(void *p) {
    long done = 0;
    (void)p;
    for (;;)
        if (posted != done) { done = posted; good(todo.x, todo.y, todo.m, todo.n); }
    return 0;
}
void softmax(const float *x, float *y, long m, long n) {
    pthread_t t;
    if (!started) { started = 1; if (pthread_create(&t, 0, pool, 0)) started = 2; }
    long half = m / 2;
    todo.x = x + half * n, todo.y = y + half * n, todo.m = m - half, todo.n = n;
    __sync_synchronize();
    posted++;
    good(x, y, half / 4, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
