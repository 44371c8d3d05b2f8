"""Sends itself SIGSTOP: nobody's clock runs, nobody answers.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("timeout", "lost-worker", "crash", "sandbox", "wrong-output", "early-reply")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
void softmax(const float *x, float *y, long m, long n) { (void)x; memset(y, 0, sizeof(float) * m * n); raise(SIGSTOP); }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
