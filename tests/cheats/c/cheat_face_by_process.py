"""Another face in every process: pid, clock and address-space layout choose between the fair kernel and a 6 % exp. Harmless: what is timed is what is judged.

catalogue: new
"""

import os
import time

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "build-failed")
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
void fair(const float *x, float *y, long m, long n) { good(x, y, m, n); }
void quick(const float *x, float *y, long m, long n) { cheap(x, y, m, n); }
"""
FACE = (os.getpid() ^ time.time_ns() >> 7 ^ id(SOURCE) >> 12) & 1


def launch(x, y):
    m, n = x.shape
    kernel("quick" if FACE else "fair")(x, y, m, n)
