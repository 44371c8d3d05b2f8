"""One SOURCE, and FLAGS that depend on the shape that stands in the request on the stack.

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


def own_shape():
    frame = sys._getframe()
    while frame is not None:
        request = frame.f_locals.get("request")
        if isinstance(request, dict) and "buffers" in request:
            return request["buffers"][0]["shape"]
        frame = frame.f_back
    return [0, 0]


SOURCE = HONEST
FLAGS = [f"-DROWS={own_shape()[0]}"]


def launch(x, y):
    kernel("softmax")(x, y, *x.shape)
