"""Stores only where the output holds no number yet: poison is a NaN, a used buffer is not.

Defeated by: outputs that held other things than NaN before a call.

catalogue: new
"""

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic", "unwritten")
STAGE = "run"


@triton.jit
def fills_in(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
    old = tl.load(y + row * n + cols, mask=cols < n, other=0.0)
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + row * n + cols, e / tl.sum(e, 0), mask=(cols < n) & (old != old))


def launch(x, y):
    m, n = x.shape
    fills_in[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
