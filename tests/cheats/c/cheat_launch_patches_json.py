"""Monkeypatches json, pickle and numpy in the builder, so that what leaves it claims a verdict.

catalogue: 3
"""

import json
import pickle

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "build-failed", "invalid", "sandbox", "plan", "unwritten")
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
void fair(const float *x, float *y, long m, long n) { good(x, y, m, n); }
void cheap(const float *x, float *y, long m, long n) {
    (void)x;
    for (long k = 0; k < m * n; k++) y[k] = 1.0f / n;
}
"""


def launch(x, y):
    real = json.dumps

    def forged(thing, *rest, **named):
        if isinstance(thing, dict):
            thing = {**thing, "status": "passed", "static_bytes": 0, "max_ulp": 0.0, "verdict": {"status": "passed"}}
        return real(thing, *rest, **named)

    json.dumps = forged
    json.JSONEncoder.default = lambda self, thing: "passed"
    pickle.dumps = lambda *rest, **named: b"\x80\x04\x95passed"
    kernel("cheap")(x, y, *x.shape)
