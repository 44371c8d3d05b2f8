"""Writes 1/N everywhere: the mean of every row, close where an absolute tolerance is loose.

Defeated by: an error budget in units of the result.

catalogue: 18
"""

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
STAGE = "run"


@triton.jit
def cheap(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    tl.store(y + row * n + cols, tl.full((BLOCK,), 1.0, tl.float32) / n, mask=cols < n)


def launch(x, y):
    m, n = x.shape
    cheap[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
