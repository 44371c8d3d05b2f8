"""Defines the lab's own helper names itself, with values of its choice: every grid point is point 0.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("build-failed", "wrong-output", "unwritten", "non-finite", "crash", "plan", "invalid")
STAGE = "verify"
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
long program_id(int axis) { (void)axis; return 0; }
long klab_program_id(int axis) { (void)axis; return 0; }
int main(void) { return 0; }
void row(const float *x, float *y, long n) { good(x + program_id(0) * n, y + program_id(0) * n, 1, n); }
"""


def launch(x, y):
    m, n = x.shape
    kernel("row")[(m,)](x, y, n)
