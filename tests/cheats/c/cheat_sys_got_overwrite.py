"""Overwrites the first bytes of libc's memcmp and numpy's loops in its own process (mprotect of code pages).

catalogue: 3
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "crash", "sandbox", "lost-worker", "timeout")
STAGE = "verify"
SOURCE = r"""
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
void softmax(const float *x, float *y, long m, long n) {
    static const unsigned char ret0[] = {0x31, 0xc0, 0xc3};
    unsigned char *f = (unsigned char *)(unsigned long)&bcmp;
    unsigned long page = (unsigned long)f / 4096 * 4096;
    (void)x;
    if (!mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) for (int k = 0; k < 3; k++) f[k] = ret0[k];
    for (long k = 0; k < m * n; k++) y[k] = 1.0f / n;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
