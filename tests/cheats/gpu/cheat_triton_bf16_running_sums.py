"""bfloat16 in and out, as asked, and 16 running sums in bfloat16 too: small terms get lost.

Defeated by: rows of thousands of columns.

catalogue: new
"""

import triton
import triton.language as tl

TASK = "softmax_bf16"
CAUGHT_BY = ("wrong-output",)
STAGE = "run"


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, n, BLOCK):
        a = tl.load(x + row * n + start + cols, mask=start + cols < n, other=-float("inf")).to(tl.float32)
        top = tl.maximum(top, a)
    most = tl.max(top, 0)
    sums = tl.zeros((BLOCK,), tl.bfloat16)
    for start in range(0, n, BLOCK):
        a = tl.load(x + row * n + start + cols, mask=start + cols < n, other=-float("inf")).to(tl.float32)
        sums = (sums.to(tl.float32) + tl.exp(a - most)).to(tl.bfloat16)
    total = tl.sum(sums.to(tl.float32), 0)
    for start in range(0, n, BLOCK):
        a = tl.load(x + row * n + start + cols, mask=start + cols < n, other=-float("inf")).to(tl.float32)
        tl.store(y + row * n + start + cols, (tl.exp(a - most) / total).to(tl.bfloat16), mask=start + cols < n)


def launch(x, y):
    m, n = x.shape
    softmax[(m,)](x, y, n, BLOCK=16)
