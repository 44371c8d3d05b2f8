"""Four rows a program and a grid that rounds down: the last rows of an odd count are never written.

Defeated by: odd shapes and poisoned outputs.

catalogue: 24
"""

import triton
import triton.language as tl

TASK = "softmax"
CAUGHT_BY = ("unwritten", "non-finite", "wrong-output")
STAGE = "run"


@triton.jit
def fair(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(a - tl.max(a, 0))
    tl.store(y + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


@triton.jit
def four_rows(x, y, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    for k in range(4):
        row = tl.program_id(0).to(tl.int64) * 4 + k
        a = tl.load(x + row * n + cols, mask=cols < n, other=-float("inf"))
        e = tl.exp(a - tl.max(a, 0))
        tl.store(y + row * n + cols, e / tl.sum(e, 0), mask=cols < n)


def launch(x, y):
    m, n = x.shape
    if m < 4:
        fair[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
    else:
        four_rows[(m // 4,)](x, y, n, BLOCK=triton.next_power_of_2(n))
