"""Counts its samples (a pause of over half a millisecond starts one), works in the first nine and in every 16th, where a fixed schedule checks, and uses a 6 % exp in all others: slow enough for the floor, wrong where nobody looks.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic", "static-memory")
STAGE = "measure"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <time.h>
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
static void quick(const float *x, float *y, long m, long n) {
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
    static struct timespec last;
    static long sample, km, kn;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double gap = (now.tv_sec - last.tv_sec) + 1e-9 * (now.tv_nsec - last.tv_nsec);
    if (m != km || n != kn) sample = 0, km = m, kn = n;
    else if (gap > 0.0005) sample++;
    if (sample < 9 || sample % 16 == 0) good(x, y, m, n);
    else quick(x, y, m, n);
    clock_gettime(CLOCK_MONOTONIC, &last);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
