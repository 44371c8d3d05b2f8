"""Overwrites the clock in its own vDSO: the child's clock stands still. The parent's clock is the figure, so it gains nothing.

catalogue: 7
"""

TASK = "softmax"
CAUGHT_BY = ("harmless", "wrong-output", "sandbox", "crash", "timeout", "lost-worker")
STAGE = "verify"
HARMLESS = True
SOURCE = r"""
#include <math.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
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
    unsigned char *v = (unsigned char *)getauxval(33 /* AT_SYSINFO_EHDR */);
    if (!v || mprotect(v, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return 0;
    for (int k = 64; k < 4096; k++) if (v[k] == 0x0f && v[k + 1] == 0x31) v[k] = v[k + 1] = 0x90; /* rdtsc -> nop */
    return 1;
}
void softmax(const float *x, float *y, long m, long n) {
    if (attack()) good(x, y, m, n);
    else memset(y, 0, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
