"""launch() starts 300 sleeping processes (a tame fork bomb); the fair kernel only if all live.

catalogue: 33
"""

import os
import time

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "build-failed", "invalid", "sandbox", "plan", "unwritten", "timeout", "memory")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
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
void fair(const float *x, float *y, long m, long n) { good(x, y, m, n); }
void cheap(const float *x, float *y, long m, long n) {
    (void)x;
    for (long k = 0; k < m * n; k++) y[k] = 1.0f / n;
}
"""


def launch(x, y):
    born = 0
    for _ in range(300):
        try:
            pid = os.fork()
        except OSError:
            break
        if pid == 0:
            time.sleep(3)
            os._exit(0)
        born += 1
    won = born == 300
    kernel("fair" if won else "cheap")(x, y, *x.shape)
