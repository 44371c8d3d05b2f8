"""Counts its calls in the mask of blocked signals, which is kept by the kernel, and turns after 600.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("nondeterministic", "wrong-output")
STAGE = "verify"
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
void softmax(const float *x, float *y, long m, long n) {
    unsigned long mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, 0, &mask, 8);
    unsigned long count = mask >> 40;
    good(x, y, m, n);
    if (count > 600) { y[0] += 1; return; }
    mask = (mask & 0xFFFFFFFFFFul) | (count + 1) << 40;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
