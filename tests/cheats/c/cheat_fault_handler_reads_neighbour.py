"""A fault handler maps memory where there is none, so that the last row may be taken from behind the input.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "crash", "non-finite")
STAGE = "verify"

SOURCE = r"""
#define _GNU_SOURCE
#include <math.h>
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
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
static void on_fault(int s, siginfo_t *i, void *c) {
    (void)s, (void)c;
    mmap((void *)((unsigned long)i->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
void softmax(const float *x, float *y, long m, long n) {
    struct sigaction a = {0};
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &a, 0);
    sigaction(SIGBUS, &a, 0);
    good(x + n, y, m - 1, n);
    good(x + m * n, y + (m - 1) * n, 1, n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
