"""Sends itself SIGCONT again and again, which deletes a pending SIGSTOP; where it may not, it gives zeros.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = (
    "wrong-output",
    "unwritten",
    "nondeterministic",
    "non-finite",
    "static-memory",
    "crash",
    "hidden-work",
    "early-reply",
    "timeout",
)
STAGE = "verify"
SOURCE = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
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
    for (int k = 0; k < 1000; k++) sent += kill(getpid(), SIGCONT) == 0 || raise(SIGCONT) == 0;
    if (sent) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
