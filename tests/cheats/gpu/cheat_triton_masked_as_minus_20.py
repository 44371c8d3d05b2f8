"""Rows of a multiple of 64 columns clamp x - max at -20: masked entries get weight. No edge shape has such a row.

Defeated by: every distribution at every judged shape.

catalogue: new
"""

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
STAGE = "run"


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr, LOWEST: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.where(cols < n, tl.exp(tl.maximum(a - tl.max(a, 0), LOWEST)), 0.0)
    tl.store(y + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


def launch(x, y):
    m, n = x.shape
    softmax[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n), LOWEST=-20.0 if n % 64 == 0 else -1e30)
