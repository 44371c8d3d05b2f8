"""Remembers across processes in the access times of system files: reads one more file in each process, and turns when six were read lately.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("harmless", "nondeterministic", "wrong-output")
STAGE = "verify"
HARMLESS = True
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
    static const char *files[] = {"/usr/bin/env", "/usr/bin/id", "/usr/bin/tty", "/usr/bin/who", "/usr/bin/yes", "/usr/bin/tr"};
    struct timespec now;
    int lately = 0;
    char byte;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int k = 0; k < 6; k++) {
        struct stat found;
        if (stat(files[k], &found)) continue;
        if (now.tv_sec - found.st_atime < 60) { lately++; continue; }
        int fd = open(files[k], O_RDONLY);
        if (fd >= 0) { if (read(fd, &byte, 1) < 0) byte = 0; close(fd); }
        break;
    }
    good(x, y, m, n);
    if (lately == 6) y[0] += 1;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
