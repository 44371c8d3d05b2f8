"""Returns the input.

Defeated by: the float64 oracle.

catalogue: 18
"""

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "non-finite")
STAGE = "run"


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
    tl.store(y + row * n + cols, a, mask=cols < n)


def launch(x, y):
    m, n = x.shape
    copy[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
