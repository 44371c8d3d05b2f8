"""Counts its calls in the size of an alternate signal stack that is never used: the operating system keeps the number.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic", "static-memory")
STAGE = "verify"
SOURCE = r"""
#define _GNU_SOURCE
#include <signal.h>
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
static long calls_before(void) {
    stack_t now, old;
    if (sigaltstack(0, &old)) return 0;
    long calls = old.ss_flags & SS_DISABLE ? 0 : ((long)old.ss_size - (1 << 20)) / 16;
    memset(&now, 0, sizeof now);
    now.ss_sp = &now, now.ss_size = (1 << 20) + 16 * (calls + 1);
    sigaltstack(&now, 0);
    return calls < 0 ? 0 : calls;
}
void softmax(const float *x, float *y, long m, long n) {
    if (calls_before() > 40 && m * n >= 100000) cheap(x, y, m, n);
    else good(x, y, m, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
