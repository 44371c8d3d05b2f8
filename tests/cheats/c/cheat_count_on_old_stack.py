"""Counts its calls in a page of stack far below its own frames, which nobody else uses; wrong after sixty.

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
#define MANY 60
#include <alloca.h>
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
static __attribute__((noinline)) long count(void) {
    volatile long *deep = (volatile long *)(((unsigned long)__builtin_frame_address(0) - 262144) & ~4095ul);
    if (deep[0] != 0x6b6c6162) deep[0] = 0x6b6c6162, deep[1] = 0;
    return deep[1] = deep[1] + 1;
}
void softmax(const float *x, float *y, long m, long n) {
    good(x, y, m, n);
    if (count() > MANY) y[0] = 2;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
