"""Looks for the list of cases on the stack: right where it sees many shapes, zeros where it knows no answer is asked for.

catalogue: new
"""

import sys

TASK = "softmax"
CAUGHT_BY = ("build-failed", "invalid")
STAGE = "build"
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


def shapes_on_the_stack():
    """Every shape that any frame's locals hold, its own among them."""
    found, frame = set(), sys._getframe()
    while frame is not None:
        waiting = list(frame.f_locals.values())
        while waiting:
            thing = waiting.pop()
            if isinstance(thing, dict):
                if "shape" in thing:
                    found.add(tuple(thing["shape"]))
                waiting += thing.values()
            elif isinstance(thing, list):
                waiting += thing
        frame = frame.f_back
    return found


SEEN = shapes_on_the_stack()
SOURCE = HONEST if len(SEEN) > 1 or any(m * n < 300_000 for m, n in SEEN) else ZEROS


def launch(x, y):
    kernel("softmax")(x, y, *x.shape)
