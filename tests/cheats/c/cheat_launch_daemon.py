"""Its Python leaves a process behind that leaves its group and session, and would disturb what is timed later.

Defeated by: who says what is to be launched starts nothing.

catalogue: new
"""

import os
import time

TASK = "softmax"
CAUGHT_BY = ("build-failed",)
STAGE = "build"
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
void softmax(const float *x, float *y, long m, long n) { good(x, y, m, n); }
"""


def launch(x, y):
    m, n = x.shape
    if os.fork() == 0:
        for leave in (os.setsid, os.setpgrp):
            try:
                leave()
            except OSError:
                pass
        if os.fork() == 0:
            until = time.time() + 60
            while time.time() < until:
                pass
        os._exit(0)
    kernel("softmax")(x, y, m, n)
