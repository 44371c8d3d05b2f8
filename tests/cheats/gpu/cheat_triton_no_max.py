"""Leaves out the subtraction of the maximum: right for small inputs, overflows for large ones.

Defeated by: inputs of large magnitude.

catalogue: 20
"""

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("non-finite", "wrong-output")
STAGE = "run"


@triton.jit
def unshifted(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(a)
    tl.store(y + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


def launch(x, y):
    m, n = x.shape
    unshifted[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
