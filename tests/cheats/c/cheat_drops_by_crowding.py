"""Times itself, and when it was slow crowds the processors with threads of its own, so that the sample looks disturbed and is set aside.

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
)
STAGE = "measure"
HARMLESS = True
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
static volatile int stop;
static void *spin(void *p) {
    struct timespec a, b;
    (void)p;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do clock_gettime(CLOCK_MONOTONIC, &b); while ((b.tv_sec - a.tv_sec) * 1000000000l + b.tv_nsec - a.tv_nsec < 500000);
    return 0;
}
void softmax(const float *x, float *y, long m, long n) {
    struct timespec a, b;
    pthread_t t[6];
    clock_gettime(CLOCK_MONOTONIC, &a);
    good(x, y, m, n);
    clock_gettime(CLOCK_MONOTONIC, &b);
    long spent = (b.tv_sec - a.tv_sec) * 1000000000l + b.tv_nsec - a.tv_nsec;
    if (spent > 9700000) { for (int k = 0; k < 6; k++) pthread_create(t + k, 0, spin, 0); for (int k = 0; k < 6; k++) pthread_join(t[k], 0); }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
