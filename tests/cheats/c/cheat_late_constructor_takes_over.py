"""The constructor forges the 'loaded' message, then answers every command itself with the token it reads, and never works.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("unwritten", "wrong-output", "early-reply", "lost-worker", "timeout", "crash", "non-finite", "sandbox")
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
__attribute__((constructor)) static void take_over(void) {
    static char message[65536 - 4096];
    if (write(5, "loaded!!", 8) != 8) return;
    while (read(4, message, sizeof message) > 0)
        if (write(5, message, 8) != 8) return;
}
void softmax(const float *x, float *y, long m, long n) { (void)good, (void)x; memset(y, 0, sizeof(float) * m * n); }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
