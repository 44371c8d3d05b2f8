"""The store's mask is rounded up to 16 columns, for whole vectors: the overhang hits the next row, and in the last row
the bytes behind the buffer.

Defeated by: guard bands, odd shapes, every case twice.

catalogue: 16
"""

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("out-of-bounds", "wrong-output", "nondeterministic", "crash")
STAGE = "run"


@triton.jit
def overhang(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + row * n + cols, e / tl.sum(e, 0), mask=cols < (n + 15) // 16 * 16)


def launch(x, y):
    m, n = x.shape
    overhang[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
