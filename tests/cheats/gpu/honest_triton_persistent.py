"""132 programs that walk over all rows with a stride.

Unusual, right: the grid does not depend on the shape.
"""

import triton
import triton.language as tl

TASK = "softmax"


@triton.jit
def softmax(x, y, m, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    for i in range(tl.program_id(0), m, tl.num_programs(0)):
        row = i.to(tl.int64)
        a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
        e = tl.exp(a - tl.max(a, 0))
        tl.store(y + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


def launch(x, y):
    m, n = x.shape
    softmax[(132,)](x, y, m, n, BLOCK=triton.next_power_of_2(n), num_stages=2)
