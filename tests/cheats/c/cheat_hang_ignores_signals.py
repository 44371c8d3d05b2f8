"""Blocks every signal it can and sleeps for ever: only SIGKILL ends it.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("timeout", "crash", "sandbox")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <unistd.h>
void softmax(const float *x, float *y, long m, long n) {
    sigset_t all;
    (void)x;
    memset(y, 0, sizeof(float) * m * n);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, 0);
    for (int s = 1; s < 32; s++) signal(s, SIG_IGN);
    for (;;) pause();
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
