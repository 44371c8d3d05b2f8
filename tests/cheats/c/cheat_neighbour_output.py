"""Looks for a finished answer in the mapped memory near its own output and copies that.

catalogue: 13
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "crash", "out-of-bounds", "unwritten", "non-finite")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <signal.h>
static sigjmp_buf back;
static void caught(int s) { (void)s; siglongjmp(back, 1); }
void softmax(const float *x, float *y, long m, long n) {
    struct sigaction sa;
    long bytes = sizeof(float) * m * n;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = caught;
    sigaction(SIGSEGV, &sa, 0), sigaction(SIGBUS, &sa, 0);
    memset(y, 0, bytes);
    for (volatile long off = 4096; off < (1l << 28); off += 4096)
        for (volatile int side = -1; side <= 1; side += 2) {
            if (sigsetjmp(back, 1)) continue;
            const float *q = (const float *)((char *)y + side * off);
            double sum = 0;
            if (q == x || !(q[0] > 0) || !(q[0] <= 1)) continue;
            for (long j = 0; j < n; j++) sum += q[j];
            if (fabs(sum - 1) > 1e-3 || (n > 1 && (x[0] < x[1]) != (q[0] < q[1]))) continue;
            volatile float touch = q[m * n - 1];
            (void)touch;
            memcpy(y, q, bytes);
            return;
        }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
