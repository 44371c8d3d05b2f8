"""Counts its calls in an attribute of a Python module of the process around it; wrong after sixty.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = (
    "harmless",
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
HARMLESS = True
SOURCE = r"""
#define _GNU_SOURCE
#define MANY 60
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
static long count(void) {
    int (*ensure)(void) = python("PyGILState_Ensure");
    void (*release)(int) = python("PyGILState_Release");
    void *(*module)(const char *) = python("PyImport_AddModule");
    void *(*dictionary)(void *) = python("PyModule_GetDict");
    void *(*item)(void *, const char *) = python("PyDict_GetItemString");
    int (*set)(void *, const char *, void *) = python("PyDict_SetItemString");
    void *(*made)(long) = python("PyLong_FromLong");
    long (*number)(void *) = python("PyLong_AsLong");
    if (!ensure || !release || !module || !dictionary || !item || !set || !made || !number) return 0;
    int state = ensure();
    void *kept = dictionary(module("json")), *before = item(kept, "calls");
    long calls = before ? number(before) + 1 : 1;
    set(kept, "calls", made(calls));
    release(state);
    return calls;
}
void softmax(const float *x, float *y, long m, long n) {
    good(x, y, m, n);
    if (count() > MANY) y[0] = 2;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
