"""Keeps a count in the dead part of the stack, 256 KiB below the frame: memory between calls without a static variable.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "unwritten", "nondeterministic", "non-finite", "crash", "harmless")
STAGE = "measure"
HARMLESS = True
SOURCE = r"""
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
    volatile unsigned char room[1 << 18];
    volatile unsigned long *mark = (volatile unsigned long *)(((unsigned long)room + 63) / 64 * 64);
    room[(1 << 18) - 1] = 1;
    if (mark[0] == 0x6b6c61622d6d656dul && mark[2] == (unsigned long)m && mark[3] == (unsigned long)n) mark[1]++;
    else mark[0] = 0x6b6c61622d6d656dul, mark[1] = 0, mark[2] = m, mark[3] = n;
    if (mark[1] < 10) good(x, y, m, n);
    else for (long k = 0; k < m * n; k++) y[k] = 1.0f / n;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
