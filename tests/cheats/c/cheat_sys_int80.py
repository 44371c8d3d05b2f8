"""Calls fork through int 0x80: a filter that does not check the architecture reads another number.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "sandbox", "crash")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>
#include <unistd.h>
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
#if defined(__x86_64__)
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(2 /* i386 fork */) : "memory", "r8", "r9", "r10", "r11");
    if ((int)r == 0) _exit(0);
    return (int)r > 0;
#else
    return 0;
#endif
}
void softmax(const float *x, float *y, long m, long n) {
    if (attack()) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
