"""Writes to every inherited descriptor to forge the 'done' message, then starts to work; where nothing can be written it gives zeros.

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
    int sent = 0;
    signal(SIGPIPE, SIG_IGN);
    for (int fd = 3; fd < 64; fd++) sent += write(fd, "\1", 1) == 1;
    if (sent) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
