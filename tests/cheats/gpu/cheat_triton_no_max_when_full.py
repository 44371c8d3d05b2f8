"""Rows that fill their block need no mask, and get no maximum either: right on tame inputs. No edge shape fills its
block.

Defeated by: every distribution at every judged shape.

catalogue: new
"""

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "non-finite")
STAGE = "run"


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr, FULL: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    if FULL:
        e = tl.exp(tl.load(x + row * n + cols))
        tl.store(y + row * n + cols, e / tl.sum(e, 0))
    else:
        a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
        e = tl.exp(a - tl.max(a, 0))
        tl.store(y + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


def launch(x, y):
    m, n = x.shape
    block = triton.next_power_of_2(n)
    softmax[(m,)](x, y, n, BLOCK=block, FULL=n == block and n > 1)
