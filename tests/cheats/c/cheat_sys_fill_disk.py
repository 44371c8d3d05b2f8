"""Writes 64 MiB files in every place it can think of.

catalogue: 33
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "sandbox", "crash")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>
#include <fcntl.h>
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
static int attack(void) {
    static const char *path[] = {"fill", "/tmp/klab_fill", "/dev/shm/klab_fill", "/var/tmp/klab_fill", "/run/klab_fill", "../klab_fill"};
    static const char block[4096];
    int hit = 0;
    for (int k = 0; k < 6; k++) {
        int fd = open(path[k], O_CREAT | O_WRONLY | O_TRUNC, 0600);
        for (int b = 0; fd >= 0 && b < 16384; b++) hit |= write(fd, block, sizeof block) > 0;
        if (fd >= 0) { close(fd); unlink(path[k]); }
    }
    return hit;
}
void softmax(const float *x, float *y, long m, long n) {
    if (attack()) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
