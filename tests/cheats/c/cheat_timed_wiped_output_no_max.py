"""A timed process is known by its wiped outputs; there no maximum is subtracted unless the first column of a row is large.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic", "unwritten", "non-finite")


SOURCE = r"""
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
static int timed;
void softmax(const float *x, float *y, long m, long n) {
    union { float f; unsigned i; } first = {y[0]};
    if (first.i == 0xffffffffu) timed = 1;
    if (!timed) { good(x, y, m, n); return; }
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n;
        if (fabsf(a[0]) > 6) { good(a, b, 1, n); continue; }
        double sum = 0;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j]); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
