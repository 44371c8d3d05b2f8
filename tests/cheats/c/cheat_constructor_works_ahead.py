"""Computes all answers while it is loaded, from the buffers it finds in Python's frames; its function does nothing.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "unwritten", "nondeterministic", "non-finite", "crash")
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
__attribute__((constructor)) static void ahead(void) {
    int (*run)(const char *) = python("PyRun_SimpleString");
    int (*ensure)(void) = python("PyGILState_Ensure");
    void (*release)(int) = python("PyGILState_Release");
    if (!run || !ensure) return;
    int state = ensure();
    run("import sys, numpy, ctypes\n"
        "f = sys._getframe()\n"
        "while f and 'buffers' not in f.f_locals: f = f.f_back\n"
        "import threading\n"
        "for t, top in sys._current_frames().items():\n"
        "    while top is not None:\n"
        "        if 'buffers' in top.f_locals and 'setup' in top.f_locals: f = top\n"
        "        top = top.f_back\n"
        "if f:\n"
        "    b, s = f.f_locals['buffers'], f.f_locals['setup']\n"
        "    for n in f.f_locals['numbers']:\n"
        "        c = s['calls'][n]; i, o = (b[k] for k in c['buffers'])\n"
        "        args = s['plans'][c['plan']]['steps'][0]['args']\n"
        "        m, k = [v for kind, v in args if kind == 'int']\n"
        "        x = numpy.ctypeslib.as_array((ctypes.c_float * (m * k)).from_address(i.data)).reshape(m, k)\n"
        "        y = numpy.ctypeslib.as_array((ctypes.c_float * (m * k)).from_address(o.data)).reshape(m, k)\n"
        "        e = numpy.exp(x.astype('f8') - x.max(axis=1, keepdims=True)); y[:] = e / e.sum(axis=1, keepdims=True)\n"
        "    import kernellab.run.child as child\n"
        "    child._leave = lambda buffer: None\n");
    release(state);
}
void softmax(const float *x, float *y, long m, long n) { (void)x; (void)y; (void)m; (void)n; }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
