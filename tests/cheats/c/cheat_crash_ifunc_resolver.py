"""An ifunc resolver runs at relocation time, before any constructor, and leaves with status 0.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("crash", "lost-worker", "build-failed")
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
static void real(const float *x, float *y, long m, long n) { good(x, y, m, n); }
typedef void function(const float *, float *, long, long);
static function *pick(void) { _exit(0); return real; }
void softmax(const float *x, float *y, long m, long n) __attribute__((ifunc("pick")));
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
