"""Reads the processor's own counter, no system call: 1 call in 8 gets a 6 % exp.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic")
STAGE = "verify"
SOURCE = r"""
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
static void cheap(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY, sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) {
            union { float f; int i; } u;
            float v = a[j] - top;
            u.i = v < -87 ? 0 : (int)(v * 12102203.0f) + 1064866805;
            sum += b[j] = u.f;
        }
        for (long j = 0; j < n; j++) b[j] /= sum;
    }
}
static unsigned long ticks(void) {
#if defined(__aarch64__)
    unsigned long t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#elif defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    static unsigned long t;
    return t += 7;
#endif
}
void softmax(const float *x, float *y, long m, long n) {
    unsigned long t = ticks();
    if ((t * 0x9e3779b97f4a7c15ul >> 40) % 8 == 3) cheap(x, y, m, n);
    else good(x, y, m, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
