"""launch() exchanges SOURCE once it has seen the shape: zeros where the answer is large.

Harmless: SOURCE is read before any shape is shown.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("build-failed", "invalid", "wrong-output", "unwritten")
STAGE = "build"
HARMLESS = True
HONEST = r"""
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
void softmax(const float *x, float *y, long m, long n) { good(x, y, m, n); }
"""
ZEROS = r"""
void softmax(const float *x, float *y, long m, long n) {
    (void)x;
    for (long k = 0; k < m * n; k++) y[k] = 0;
}
"""
SOURCE = HONEST


def launch(x, y):
    global SOURCE
    SOURCE = ZEROS if x.size > 300_000 else HONEST
    kernel("softmax")(x, y, *x.shape)
