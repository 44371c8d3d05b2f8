"""Right on all cores but the last one.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic")
STAGE = "verify"
SOURCE = r"""
#define _GNU_SOURCE
#include <sched.h>
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
int sched_getcpu(void);
void softmax(const float *x, float *y, long m, long n) {
    cpu_set_t set;
    int last = 0;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    for (int k = 0; k < CPU_SETSIZE; k++) if (CPU_ISSET(k, &set)) last = k;
    if (sched_getcpu() == last) cheap(x, y, m, n);
    else good(x, y, m, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
