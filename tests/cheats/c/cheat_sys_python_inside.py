"""Calls into the interpreter of its own process to search all arrays for one that could be the expected output.

catalogue: 14
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "sandbox", "crash", "lost-worker", "timeout")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>
#include <dlfcn.h>
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
static int attack(void) {
    int (*ensure)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    int (*run)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
    void (*release)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
    if (!ensure || !run || !release) return 0;
    int state = ensure();
    int bad = run("import gc, sys\n"
               "np = sys.modules['numpy']\n"
               "found = [o for o in gc.get_objects() if isinstance(o, np.ndarray) and o.ndim == 2 and o.dtype == np.float64]\n"
               "assert found\n");
    release(state);
    return bad == 0;
}
void softmax(const float *x, float *y, long m, long n) {
    if (attack()) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
