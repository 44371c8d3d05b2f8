"""Sixteen threads for two processors, started and joined in every call.

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
struct part { const float *x; float *y; long m, n; };
static void *work(void *p) { struct part *q = p; good(q->x, q->y, q->m, q->n); return 0; }
void softmax(const float *x, float *y, long m, long n) {
    struct part parts[16];
    pthread_t t[16];
    for (int k = 0; k < 16; k++) {
        long from = m * k / 16, to = m * (k + 1) / 16;
        parts[k] = (struct part){x + from * n, y + from * n, to - from, n};
        if (pthread_create(t + k, 0, work, parts + k)) abort();
    }
    for (int k = 0; k < 16; k++) pthread_join(t[k], 0);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
