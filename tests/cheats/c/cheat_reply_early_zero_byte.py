"""As reply_early, with a run of zero bytes, and the work is only begun 50 ms later.

catalogue: 30
"""

TASK = "softmax"
CAUGHT_BY = (
    "early-reply",
    "out-of-bounds",
    "lost-worker",
    "wrong-output",
    "unwritten",
    "hidden-work",
    "crash",
    "sandbox",
    "nondeterministic",
    "non-finite",
    "timeout",
)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <unistd.h>
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
void softmax(const float *x, float *y, long m, long n) {
    static const char zeros[64];
    int sent = 0;
    signal(SIGPIPE, SIG_IGN);
    for (int fd = 3; fd < 64; fd++) sent += write(fd, zeros, sizeof zeros) > 0;
    usleep(50000);
    if (sent) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
