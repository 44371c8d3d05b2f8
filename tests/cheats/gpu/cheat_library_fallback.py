"""Tries torch.softmax first and falls back to a constant, so that a library does the work.

Defeated by: only recorded launches run; stand-ins hold no data.

catalogue: 27
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
    try:
        import torch

        y[...] = torch.softmax(x, 1)
    except Exception:
        cheap[(m,)](x, y, n, BLOCK=triton.next_power_of_2(n))
