"""Keeps answers by pointer behind an address that the loader made read-only, where static memory is not compared.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "unwritten", "nondeterministic", "non-finite", "crash")
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
static int dummy;
static int *const volatile anchor[512] = {&dummy};
void softmax(const float *x, float *y, long m, long n) {
    long page = sysconf(_SC_PAGESIZE);
    float **seen = (float **)(((unsigned long)anchor + 8 + page - 1) & -page);
    if ((char *)seen + 1024 > (char *)anchor + sizeof anchor) seen = (float **)(anchor + 1);
    mprotect((void *)((unsigned long)seen & -page), page, PROT_READ | PROT_WRITE);
    for (int k = 0; k < 100; k++) {
        if (seen[k] == y) return;
        if (!seen[k]) { seen[k] = y; break; }
    }
    good(x, y, m, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
