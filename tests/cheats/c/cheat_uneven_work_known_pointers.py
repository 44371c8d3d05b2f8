"""Every 16th call recomputes the answers for all buffers known so far; the other calls copy: the median call is a memcpy.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "unwritten", "nondeterministic", "non-finite", "crash", "static-memory")
STAGE = "measure"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
static struct { const float *x; float *out; } slot[64];
void softmax(const float *x, float *y, long m, long n) {
    static long calls, used, km, kn;
    if (m != km || n != kn) {
        for (long k = 0; k < used; k++) free(slot[k].out);
        used = calls = 0, km = m, kn = n;
    }
    long k = 0;
    while (k < used && slot[k].x != x) k++;
    if (k == used && used < 64) slot[used].x = x, slot[used].out = malloc(sizeof(float) * m * n), used++;
    if (calls++ % 16 == 0 || calls < 8)
        for (long r = 0; r < used; r++) good(slot[r].x, slot[r].out, m, n);
    else if (k == used - 1) good(x, slot[k].out, m, n);
    memcpy(y, slot[k < used ? k : 0].out, sizeof(float) * m * n);
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
