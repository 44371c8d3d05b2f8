"""Eight rows a program as a two-dimensional block, with the last rows masked.

Unusual, right.
"""

import triton
import triton.language as tl

TASK = "softmax"


@triton.jit
def softmax(x, y, m, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    inside = (rows < m) & (cols < n)
    a = tl.load(x + rows * n + cols, mask=inside, other=-float("inf"))
    top = tl.max(a, 1)[:, None]
    e = tl.exp(a - tl.where(top == -float("inf"), 0.0, top))
    tl.store(y + rows * n + cols, e / tl.sum(e, 1)[:, None], mask=inside)


def launch(x, y):
    m, n = x.shape
    rows = 8 if n <= 1024 else 1
    softmax[(triton.cdiv(m, rows),)](x, y, m, n, ROWS=rows, BLOCK=triton.next_power_of_2(n))
