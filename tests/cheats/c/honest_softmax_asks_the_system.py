"""Asks how many processors and how large a cache there is, and which environment, and computes the same whatever it hears.

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
void softmax(const float *x, float *y, long m, long n) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN), all = sysconf(_SC_NPROCESSORS_CONF), page = sysconf(_SC_PAGESIZE);
    char line[256] = "";
    const char *home = getenv("HOME");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file) { if (!fgets(line, sizeof line, file)) line[0] = 0; fclose(file); }
    long block = 1 + (cores + all + page + (home ? 1 : 0) + line[0]) % 7;
    for (long i = 0; i < m; i += block) good(x + i * n, y + i * n, m - i < block ? m - i : block, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
