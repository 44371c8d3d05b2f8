"""A pool of one helper that spins between the calls, as some thread pools do.

catalogue: control
"""

TASK = "softmax"
THREADS = 2
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
struct pool { const float *x; float *y; long m, n; volatile long ticket, done; };
static struct pool *pool;
static void *help(void *p) {
    struct pool *q = p;
    for (long next = 1;; next++) {
        while (__atomic_load_n(&q->ticket, __ATOMIC_ACQUIRE) < next) ;
        good(q->x, q->y, q->m / 2, q->n);
        __atomic_store_n(&q->done, next, __ATOMIC_RELEASE);
    }
}
void softmax(const float *x, float *y, long m, long n) {
    if (!pool) {
        pthread_t t;
        pool = calloc(1, sizeof *pool);
        if (pthread_create(&t, 0, help, pool)) abort();
    }
    pool->x = x, pool->y = y, pool->m = m, pool->n = n;
    long mine = pool->ticket + 1;
    __atomic_store_n(&pool->ticket, mine, __ATOMIC_RELEASE);
    good(x + m / 2 * n, y + m / 2 * n, m - m / 2, n);
    while (__atomic_load_n(&pool->done, __ATOMIC_ACQUIRE) < mine) ;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
