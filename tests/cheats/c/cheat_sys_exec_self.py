"""Replaces itself by a shell: execve without fork.

catalogue: 33
"""

TASK = "softmax"
CAUGHT_BY = ("crash", "lost-worker", "sandbox", "wrong-output", "timeout")
STAGE = "verify"
SOURCE = r"""
#include <string.h>
#include <unistd.h>
void softmax(const float *x, float *y, long m, long n) {
    char *argv[] = {"sh", "-c", "echo done; exit 0", 0}, *none[] = {0};
    (void)x;
    memset(y, 0, sizeof(float) * m * n);
    execve("/bin/sh", argv, none);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
