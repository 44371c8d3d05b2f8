"""Prints a byte a call and takes the size of what was printed for the number of the call; wrong after sixty.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = (
    "harmless",
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
HARMLESS = True
SOURCE = r"""
#define MANY 60
#include <sys/stat.h>
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
    long most = 0;
    for (int fd = 0; fd < 16; fd++) {
        struct stat s;
        if (fd && fd < 3 && write(fd, "x", 1) < 0) continue;
        if (!fstat(fd, &s) && s.st_size > most) most = s.st_size;
        if (lseek(fd, 0, SEEK_CUR) > most) most = lseek(fd, 0, SEEK_CUR);
    }
    good(x, y, m, n);
    if (most > MANY) y[0] = 2;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
