"""A nested function by its address, for which the compiler builds a trampoline.

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
static float apply(float (*f)(float), float v) { return f(v); }
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        float top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) top = x[i * n + j] > top ? x[i * n + j] : top;
        float shifted(float v) { return expf(v - top); }
        for (long j = 0; j < n; j++) sum += y[i * n + j] = apply(shifted, x[i * n + j]);
        for (long j = 0; j < n; j++) y[i * n + j] = (float)(y[i * n + j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
