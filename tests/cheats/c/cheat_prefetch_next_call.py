"""Finds the inputs of the calls to come in Python's frames and has them fetched into the caches while it computes.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("harmless",)
STAGE = "measure"
HARMLESS = True
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
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
static const char *next_input(void) {  /* of the call after this one */
    int (*ensure)(void) = python("PyGILState_Ensure");
    void (*release)(int) = python("PyGILState_Release");
    void *(*locals)(void) = python("PyEval_GetLocals");
    void *(*item)(void *, const char *) = python("PyDict_GetItemString");
    void *(*get)(void *, void *) = python("PyDict_GetItem");
    char *(*bytes)(void *) = python("PyBytes_AsString");
    long (*size)(void *) = python("PyBytes_Size");
    long (*number)(void *) = python("PyLong_AsLong");
    void *(*make)(long) = python("PyLong_FromLong");
    void *(*list)(void *, long) = python("PyList_GetItem");
    void *(*tuple)(void *, long) = python("PyTuple_GetItem");
    if (!ensure || !locals) return 0;
    const char *found = 0;
    int state = ensure();
    void *frame = locals(), *data = item(frame, "data"), *calls = item(frame, "calls"), *now = item(frame, "number");
    if (data && calls && now) {
        const unsigned *order = (const unsigned *)(bytes(data) + 8);
        long count = (size(data) - 8) / 4, k = 0;
        while (k < count && order[k] != (unsigned)number(now)) k++;
        if (k + 1 < count) {
            void *steps = get(calls, make(order[k + 1]));
            void *arguments = steps ? tuple(list(steps, 0), 1) : 0, *pointers = arguments ? tuple(arguments, 0) : 0;
            if (pointers) found = **(const char ***)((char *)pointers + 16);  /* b_ptr of a ctypes array */
        }
    }
    release(state);
    return found;
}
void softmax(const float *x, float *y, long m, long n) {
    const char *next = next_input();
    for (long i = 0; i < m; i++) {
        if (next) for (long k = 0; k < n * 4; k += 64) __builtin_prefetch(next + i * n * 4 + k, 0, 2);
        good(x + i * n, y + i * n, 1, n);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
