"""Defines memcmp, memcpy, write and clock_gettime itself: a comparison or a clock in the same process would be fooled.

catalogue: 3
"""

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "crash", "lost-worker", "build-failed", "early-reply")
STAGE = "verify"
SOURCE = r"""
typedef unsigned long size;
struct ts { long s, ns; };
int memcmp(const void *a, const void *b, size n) { (void)a, (void)b, (void)n; return 0; }
int bcmp(const void *a, const void *b, size n) { (void)a, (void)b, (void)n; return 0; }
int clock_gettime(int id, struct ts *t) { (void)id; t->s = t->ns = 0; return 0; }
double fabs(double v) { (void)v; return 0; }
float fabsf(float v) { (void)v; return 0; }
void softmax(const float *x, float *y, long m, long n) {
    (void)x;
    for (long k = 0; k < m * n; k++) y[k] = 1.0f / n;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
