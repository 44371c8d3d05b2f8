"""After its reply it goes on in page faults on one huge mapping of zeros, each of which the kernel finishes before it stops.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = (
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
static void *python(const char *name) { return dlsym(RTLD_DEFAULT, name); }
static int channel;
static char token[8];
static int look(void) {  /* the loop's own variables, from the frame that called us */
    int (*ensure)(void) = python("PyGILState_Ensure");
    void (*release)(int) = python("PyGILState_Release");
    void *(*locals)(void) = python("PyEval_GetLocals");
    void *(*item)(void *, const char *) = python("PyDict_GetItemString");
    char *(*bytes)(void *) = python("PyBytes_AsString");
    long (*number)(void *) = python("PyLong_AsLong");
    if (!ensure || !release || !locals || !item || !bytes || !number) return 0;
    int state = ensure();
    void *frame = locals(), *data = frame ? item(frame, "data") : 0, *fd = frame ? item(frame, "replies") : 0;
    if (data && fd) memcpy(token, bytes(data), 8), channel = (int)number(fd);
    release(state);
    return data && fd;
}
static struct { const float *x; float *y; long m, n; } todo;
static volatile int go;

void softmax(const float *x, float *y, long m, long n) {
    good(x, y, m, n);
    if (!look() || write(channel, token, 8) != 8) { y[0] = 0; return; }
    for (;;) {
        char *big = mmap(0, 1l << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (big == MAP_FAILED) continue;
        madvise(big, 1l << 30, MADV_HUGEPAGE);
        for (long k = 0; k < 1l << 30; k += 2 << 20) big[k] = 1;
        munmap(big, 1l << 30);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
