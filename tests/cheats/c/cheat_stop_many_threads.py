"""400 threads make the stop slow, while one of them replies at once and works on.

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

static void *spin(void *p) { (void)p; for (;;) ; }
static void *helper(void *p) {
    (void)p;
    while (!go);
    if (write(channel, token, 8) != 8) return 0;
    good(todo.x, todo.y, todo.m, todo.n);
    return 0;
}
void softmax(const float *x, float *y, long m, long n) {
    pthread_t t;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    todo.x = x, todo.y = y, todo.m = m, todo.n = n;
    if (!look() || pthread_create(&t, &small, helper, 0)) { memset(y, 0, sizeof(float) * m * n); return; }
    for (int k = 0; k < 400; k++) pthread_create(&t, &small, spin, 0);
    go = 1;
    for (;;) ;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
