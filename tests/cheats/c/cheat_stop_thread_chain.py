"""Threads that each start the next one and end: whoever looks at a list of threads never sees the one that works.

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

static pthread_attr_t loose;
static volatile long row;
static void *link_of_chain(void *p) {
    pthread_t t;
    long i = (long)p;
    if (i == 0 && write(channel, token, 8) != 8) return 0;
    if (i < todo.m) good(todo.x + i * todo.n, todo.y + i * todo.n, 1, todo.n);
    pthread_create(&t, &loose, link_of_chain, (void *)(i + 1));
    return 0;
}
void softmax(const float *x, float *y, long m, long n) {
    pthread_t t;
    pthread_attr_init(&loose);
    pthread_attr_setdetachstate(&loose, PTHREAD_CREATE_DETACHED);
    todo.x = x, todo.y = y, todo.m = m, todo.n = n;
    if (!look() || pthread_create(&t, &loose, link_of_chain, 0)) { memset(y, 0, sizeof(float) * m * n); return; }
    for (;;) pause();
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
