"""Carries four megabytes of constants in its machine code.

catalogue: control
"""

TASK = "softmax"
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
static const float ones[1 << 20] = {[0 ... (1 << 20) - 1] = 1.0f};
void softmax(const float *x, float *y, long m, long n) {
    good(x, y, m, n);
    for (long k = 0; k < m * n; k++) y[k] *= ones[k & 0xFFFFF];
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
