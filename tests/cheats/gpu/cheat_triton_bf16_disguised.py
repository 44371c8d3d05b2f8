"""A float32 softmax that rounds its input and its exponentials to bfloat16 on the way.

Defeated by: the error budget of a float32 result.

catalogue: 23
"""

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("wrong-output",)
STAGE = "run"


@triton.jit
def rounded(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf")).to(tl.bfloat16).to(tl.float32)
    e = tl.exp(a - tl.max(a, 0)).to(tl.bfloat16).to(tl.float32)
    tl.store(y + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


def launch(x, y):
    m, n = x.shape
    rounded[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
