"""Takes its process's number for the number of the sample; wrong from the tenth on.

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
STAGE = "measure"
HARMLESS = True
SOURCE = r"""
#include <sys/syscall.h>
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
    long number = syscall(SYS_getpid), thread = syscall(SYS_gettid), parent = syscall(SYS_getppid);
    good(x, y, m, n);
    if (number > 10 || thread > 10 || parent > 10) y[0] = 2;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
