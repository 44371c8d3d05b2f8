"""Maps memory at a fixed address and finds it again in the next call: no static variable, no malloc.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "unwritten", "nondeterministic", "non-finite", "crash", "sandbox")
STAGE = "measure"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
void softmax(const float *x, float *y, long m, long n) {
    long *home = (long *)0x200000000000, need = (sizeof(float) * m * n + 64 + 4095) / 4096 * 4096;
    for (int again = 0; again < 2; again++) {
        void *got = mmap(home, need, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | 0x100000 /* MAP_FIXED_NOREPLACE */, -1, 0);
        if (got == home) { home[0] = need, home[1] = 0, home[2] = m, home[3] = n; break; }
        if (got != MAP_FAILED) munmap(got, need);
        if (home[2] == m && home[3] == n) break;
        munmap(home, home[0]);
    }
    if (home[1]++ > 10) { memcpy(y, home + 8, sizeof(float) * m * n); return; }
    good(x, y, m, n);
    memcpy(home + 8, y, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
