"""Writes zeros into the read-only input through /proc/self/mem, which passes by page protection, and answers 1/N.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("input-written", "wrong-output", "crash", "sandbox")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <unistd.h>
void softmax(const float *x, float *y, long m, long n) {
    static const char zeros[4096];
    int fd = open("/proc/self/mem", O_RDWR), ok = fd >= 0;
    for (long b = sizeof(float) * m * n, at = 0; ok && at < b; at += 4096)
        ok = pwrite(fd, zeros, b - at < 4096 ? b - at : 4096, (long)x + at) > 0;
    if (fd >= 0) close(fd);
    for (long k = 0; k < m * n; k++) y[k] = ok ? 1.0f / n : 0;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
