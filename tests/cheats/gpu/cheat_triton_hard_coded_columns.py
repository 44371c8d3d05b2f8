"""Assumes rows of 4096 columns whatever the shape.

Defeated by: other shapes, guard bands.

catalogue: 25
"""

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "out-of-bounds", "crash", "non-finite", "unwritten", "nondeterministic")
STAGE = "run"


@triton.jit
def rows_of_4096(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * 4096 + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + row * 4096 + cols, e / tl.sum(e, 0), mask=cols < n)


def launch(x, y):
    rows_of_4096[(x.shape[0],)](x, y, 4096, BLOCK=4096)
