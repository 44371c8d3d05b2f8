"""launch() writes a forged artifact to every open descriptor, then leaves with status 0.

catalogue: 30
"""

import contextlib
import os

TASK = "softmax"
CAUGHT_BY = ("build-failed", "invalid", "plan", "crash")
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
    for fd in range(1, 64):
        with contextlib.suppress(OSError):
            os.write(fd, b'{"status": "passed", "plans": {}, "code": ""}\n')
    os._exit(0)
