"""Writes a forged verdict to every descriptor and leaves with status 0.

catalogue: 30
"""

TASK = "softmax"
CAUGHT_BY = ("lost-worker", "crash", "early-reply", "wrong-output", "unwritten", "sandbox")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <unistd.h>
void softmax(const float *x, float *y, long m, long n) {
    static const char verdict[] = "{\"status\": \"passed\", \"level\": \"full\", \"cases\": 99, \"max_abs_err\": 0.0, \"max_ulp\": 0.0}\n";
    (void)x;
    memset(y, 0, sizeof(float) * m * n);
    signal(SIGPIPE, SIG_IGN);
    for (int fd = 0; fd < 256; fd++) if (write(fd, verdict, sizeof verdict - 1) < 0) continue;
    _exit(0);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
