"""The layout of the address space, new in every process, decides once for the whole process. Harmless: a process that is timed is checked, and a wrong one is wrong in every call.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic")
STAGE = "verify"
HARMLESS = True
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
void softmax(const float *x, float *y, long m, long n) {
    unsigned long here = (unsigned long)&good >> 12;
    if (here * 0x9e3779b97f4a7c15ul >> 62 == 1) cheap(x, y, m, n);
    else good(x, y, m, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
