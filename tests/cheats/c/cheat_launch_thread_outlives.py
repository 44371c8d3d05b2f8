"""A thread started by launch() keeps running, truncates every .so it finds, and an atexit hook forges the reply.

catalogue: new
"""

import atexit
import contextlib
import glob
import threading
import time

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "build-failed", "invalid", "sandbox", "plan", "unwritten", "crash", "lost-worker")
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
    def swap():
        while True:
            for path in glob.glob("**/*.so", recursive=True) + glob.glob("/tmp/**/*.so", recursive=True):
                with contextlib.suppress(OSError), open(path, "r+b") as file:
                    file.truncate(0)
            time.sleep(0.001)

    threading.Thread(target=swap, daemon=True).start()
    atexit.register(print, '{"status": "passed"}', flush=True)
    kernel("cheap")(x, y, *x.shape)
