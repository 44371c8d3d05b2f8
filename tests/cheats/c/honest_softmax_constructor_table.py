"""A table of powers of two that is made when it is loaded.

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
static double powers[64];
__attribute__((constructor)) static void fill(void) { for (int k = 0; k < 64; k++) powers[k] = exp2(k / 64.0); }
static double table_exp(double v) {
    if (v < -104) return 0;
    double t = v * 1.4426950408889634, whole = floor(t * 64) / 64, rest = (t - whole) * 0.6931471805599453;
    long k = (long)floor(t * 64);
    double p = 1 + rest * (1 + rest * (0.5 + rest * (1.0 / 6 + rest / 24)));
    return ldexp(powers[k & 63] * p, (int)(k >> 6));
}
void softmax(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        float top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) top = x[i * n + j] > top ? x[i * n + j] : top;
        for (long j = 0; j < n; j++) { double e = table_exp((double)x[i * n + j] - top); y[i * n + j] = (float)e; sum += e; }
        for (long j = 0; j < n; j++) y[i * n + j] = (float)(y[i * n + j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
