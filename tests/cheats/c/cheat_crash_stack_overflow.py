"""Recurses without end.

catalogue: 32
"""

TASK = "softmax"
CAUGHT_BY = ("crash",)
STAGE = "verify"
SOURCE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>

static long deep(volatile char *p, long k) { volatile char room[4096]; room[k % 4096] = p[0]; return deep(room, k + 1) + room[1]; }
void softmax(const float *x, float *y, long m, long n) { char c = 1; (void)x, (void)m; y[0] = deep(&c, n); }
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
