"""A thread started by the constructor watches the known buffers and prepares answers while the clock is not running.

catalogue: 32
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
    "timeout",
    "lost-worker",
)
STAGE = "measure"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>
#include <unistd.h>
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
static struct { const float *x; long m, n; float *out; volatile int ready; } slot[64];
static volatile int used;
static void *watch(void *p) {
    (void)p;
    for (;; usleep(200))
        for (int k = 0; k < used; k++) { good(slot[k].x, slot[k].out, slot[k].m, slot[k].n); slot[k].ready = 1; }
    return 0;
}
static volatile int alive;
__attribute__((constructor)) static void start(void) {
    pthread_t t;
    alive = !pthread_create(&t, 0, watch, 0);
}
void softmax(const float *x, float *y, long m, long n) {
    for (int k = 0; k < used; k++)
        if (slot[k].x == x && slot[k].m == m && slot[k].n == n && slot[k].ready) { memcpy(y, slot[k].out, sizeof(float) * m * n); return; }
    if (!alive) { memset(y, 0, sizeof(float) * m * n); return; }
    good(x, y, m, n);
    if (used < 64 && (slot[used].out = malloc(sizeof(float) * m * n))) { slot[used].x = x, slot[used].m = m, slot[used].n = n; used++; }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
