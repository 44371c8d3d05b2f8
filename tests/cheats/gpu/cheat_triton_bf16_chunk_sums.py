"""A bfloat16 softmax whose running sum over chunks of 4 columns is kept in bfloat16: it stalls as soon as a chunk is
less than half a digit (constant rows: at 1024).

Defeated by: 16-bit results may differ by about 2 ULP, so sums must be kept in float32.

catalogue: 23
"""

import triton
import triton.language as tl

TASK = "softmax_bf16"
CAUGHT_BY = ("wrong-output",)
STAGE = "run"


@triton.jit
def chunked(x, y, n):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, 4)
    top = -float("inf")
    for at in range(0, n, 4):
        top = tl.maximum(
            top, tl.max(tl.load(x + row * n + at + cols, mask=at + cols < n, other=-float("inf")).to(tl.float32), 0)
        )
    total = tl.full((1,), 0.0, tl.bfloat16)
    for at in range(0, n, 4):
        a = tl.load(x + row * n + at + cols, mask=at + cols < n, other=-float("inf")).to(tl.float32)
        total = (total.to(tl.float32) + tl.sum(tl.exp(a - top), 0)).to(tl.bfloat16)
    for at in range(0, n, 4):
        a = tl.load(x + row * n + at + cols, mask=at + cols < n, other=-float("inf")).to(tl.float32)
        tl.store(y + row * n + at + cols, (tl.exp(a - top) / total.to(tl.float32)).to(tl.bfloat16), mask=at + cols < n)


def launch(x, y):
    m, n = x.shape
    chunked[(m,)](x, y, n)
