"""Reads the parent's memory with process_vm_readv and /proc/PID/mem in search of the expected output.

catalogue: 14
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "sandbox", "crash")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <stdio.h>
#include <fcntl.h>
#include <sys/types.h>
#include <sys/uio.h>
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
    char got[64], path[64];
    struct iovec to = {got, sizeof got}, from = {(void *)path, sizeof got};
    pid_t who[] = {getppid(), 1};
    for (int k = 0; k < 2; k++) {
        if (who[k] == getpid()) continue;
        if (syscall(SYS_process_vm_readv, who[k], &to, 1ul, &from, 1ul, 0ul) > 0) return 1;
        snprintf(path, sizeof path, "/proc/%d/mem", (int)who[k]);
        int fd = open(path, O_RDONLY);
        if (fd >= 0) { close(fd); return 1; }
    }
    return 0;
}
void softmax(const float *x, float *y, long m, long n) {
    if (attack()) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
