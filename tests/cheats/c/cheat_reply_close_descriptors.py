"""Closes every descriptor: the parent must see a lost worker, not wait for ever.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("lost-worker", "crash", "timeout", "early-reply", "wrong-output")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>
void softmax(const float *x, float *y, long m, long n) {
    (void)x;
    memset(y, 0, sizeof(float) * m * n);
    for (int fd = 0; fd < 256; fd++) close(fd);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
