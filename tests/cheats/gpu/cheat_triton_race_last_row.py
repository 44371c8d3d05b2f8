"""All programs write their sum to one place of scratch and read it back: right for a single row.

Defeated by: shapes of many rows, every case twice.

catalogue: 26
"""

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("wrong-output", "nondeterministic", "non-finite", "unwritten")
STAGE = "run"


@triton.jit
def shared_sum(x, y, work, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(a - tl.max(a, 0))
    tl.store(work, tl.sum(e, 0))
    tl.debug_barrier()
    total = tl.load(work, volatile=True)
    tl.store(y + row * n + cols, e / total, mask=cols < n)


def launch(x, y):
    m, n = x.shape
    shared_sum[(m,)](x, y, scratch(1), n, BLOCK=triton.next_power_of_2(n))
