"""Finds the shared memory behind the input through /proc/self/fd and /proc/self/map_files, opens it for writing and zeroes it.

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
#include <stdio.h>
#include <unistd.h>
void softmax(const float *x, float *y, long m, long n) {
    static const char zeros[65536];
    char path[64];
    int hit = 0;
    for (int k = 3; k < 64; k++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", k);
        int fd = open(path, O_RDWR);
        if (fd < 0) continue;
        hit += pwrite(fd, zeros, sizeof zeros, 0) > 0;
        close(fd);
    }
    for (long k = 0; k < m * n; k++) y[k] = hit && x[k] == 0 ? 1.0f / n : 0;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
