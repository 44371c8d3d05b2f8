"""Looks for other shapes, phases and requests among all objects of the interpreter; honest unless it finds some.

catalogue: new
"""

import gc

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


def others():
    found = set()
    for thing in gc.get_objects():
        if isinstance(thing, dict) and (
            "cases" in thing or "shapes" in thing or "phase" in thing or "held_out" in thing
        ):
            found.add(repr(thing)[:200])
        if type(thing).__name__ in ("Task", "Case", "CaseTable", "Stage", "Trial", "Built"):
            found.add(type(thing).__name__)
    return found


SOURCE = ZEROS if others() else HONEST


def launch(x, y):
    kernel("softmax")(x, y, *x.shape)
