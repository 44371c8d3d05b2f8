"""Flushes denormal numbers while it looks for the maximum, where none matters, and puts the control register back.

catalogue: control
"""

TASK = "softmax"
SOURCE = r"""
#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
static unsigned long control(void) {
#if defined(__aarch64__)
    unsigned long r;
    __asm__ volatile("mrs %0, fpcr" : "=r"(r));
    return r;
#elif defined(__x86_64__)
    return _mm_getcsr();
#else
    return 0;
#endif
}
static void set_control(unsigned long r) {
#if defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(r));
#elif defined(__x86_64__)
    _mm_setcsr((unsigned)r);
#endif
}
static __attribute__((noinline)) float largest(const float *a, long n) {
    float top = -INFINITY;
    for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
    return top;
}
void softmax(const float *x, float *y, long m, long n) {
    unsigned long before = control();
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n;
        double sum = 0;
#if defined(__aarch64__)
        set_control(before | 1ul << 24);
#else
        set_control(before | 0x8040);
#endif
        float top = largest(a, n);
        set_control(before);
        for (long j = 0; j < n; j++) sum += b[j] = expf(a[j] - top);
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
