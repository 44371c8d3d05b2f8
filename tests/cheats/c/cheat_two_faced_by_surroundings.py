"""Files, arguments, environment, descriptors and process number go into SOURCE, so that two jobs that differ differ in it.

Harmless: they do not differ.

catalogue: new
"""

import os
import sys

TASK = "softmax"
CAUGHT_BY = ("build-failed", "invalid")
STAGE = "build"
HARMLESS = True
HONEST = r"""
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
void softmax(const float *x, float *y, long m, long n) { good(x, y, m, n); }
"""


def surroundings():
    seen = [sys.argv, sorted(os.environ.items()), sorted(os.listdir(".")), os.getcwd(), __file__]
    for place in ("/", "/tmp", "/dev/shm", "/proc"):
        try:
            seen.append(sorted(os.listdir(place)))
        except OSError as err:
            seen.append(err.errno)
    for fd in range(64):
        try:
            seen.append((fd, os.fstat(fd).st_mode))
        except OSError as err:
            seen.append(err.errno)
    return seen


SOURCE = HONEST + "/* " + repr(surroundings()).replace("*", "").replace("\\", "") + " */\n"


def launch(x, y):
    kernel("softmax")(x, y, *x.shape)
