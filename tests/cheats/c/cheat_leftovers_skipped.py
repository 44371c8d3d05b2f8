"""Takes the call that fills the outputs with leftovers out of the loop's table, and skips every buffer that it has written before.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "unwritten", "nondeterministic", "non-finite")
STAGE = "measure"
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
static void quiet(void) {
    int (*ensure)(void) = python("PyGILState_Ensure");
    void (*release)(int) = python("PyGILState_Release");
    void *(*locals)(void) = python("PyEval_GetLocals");
    void *(*item)(void *, const char *) = python("PyDict_GetItemString");
    void *(*number)(long) = python("PyLong_FromLong");
    void *(*list)(long) = python("PyList_New");
    int (*put)(void *, void *, void *) = python("PyDict_SetItem");
    if (!ensure || !locals || !item || !number || !list || !put) return;
    int state = ensure();
    void *frame = locals(), *calls = frame ? item(frame, "calls") : 0;
    if (calls) put(calls, number(0xFFFFFFFFl), list(0));
    release(state);
}
static float **seen;
void softmax(const float *x, float *y, long m, long n) {
    if (!seen) { quiet(); seen = calloc(65536, sizeof *seen); }
    long k = 0;
    while (seen[k] && seen[k] != y) k++;
    if (seen[k] == y) return;
    if (k < 65000) seen[k] = y;
    good(x, y, m, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
