"""Sums in float64, and the quotient too, rounded once at the end.

Unusual, right: more than asked for.
"""

import triton
import triton.language as tl

TASK = "softmax"


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(a - tl.max(a, 0)).to(tl.float64)
    tl.store(y + row * n + cols, (e / tl.sum(e, 0)).to(tl.float32), mask=cols < n)


def launch(x, y):
    m, n = x.shape
    softmax[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
