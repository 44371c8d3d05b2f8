"""Reads the parent's next command from every inherited pipe to learn what comes and to run ahead; zeros where there is none.

catalogue: new
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

#include <poll.h>
#include <sys/stat.h>
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
    char next[256];
    int got = 0;
    for (int fd = 0; fd < 64; fd++) {
        struct stat s;
        struct pollfd p = {fd, POLLIN, 0};
        if (fstat(fd, &s) || !S_ISFIFO(s.st_mode) || poll(&p, 1, 0) <= 0 || !(p.revents & POLLIN)) continue;
        got += read(fd, next, sizeof next) > 0;
    }
    if (got) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
