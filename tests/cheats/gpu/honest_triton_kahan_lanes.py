"""Running sums with Kahan's correction in 256 lanes, in chunks, last chunk first.

Unusual, right: another order of summation.
"""

import triton
import triton.language as tl

TASK = "softmax"


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    chunks = tl.cdiv(n, BLOCK)
    tops = tl.full((BLOCK,), -float("inf"), tl.float32)
    for k in range(0, chunks):
        at = (chunks - 1 - k) * BLOCK + cols
        tops = tl.maximum(tops, tl.load(x + row * n + at, mask=at < n, other=-float("inf")))
    top = tl.max(tops, 0)
    sums = tl.zeros((BLOCK,), tl.float32)
    rest = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, chunks):
        at = (chunks - 1 - k) * BLOCK + cols
        term = tl.exp(tl.load(x + row * n + at, mask=at < n, other=-float("inf")) - top) - rest
        larger = sums + term
        rest = (larger - sums) - term
        sums = larger
    total = tl.sum(sums, 0)
    for k in range(0, chunks):
        at = (chunks - 1 - k) * BLOCK + cols
        a = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
        tl.store(y + row * n + at, tl.exp(a - top) / total, mask=at < n)


def launch(x, y):
    m, n = x.shape
    softmax[(m,)](x, y, n, BLOCK=256, num_warps=4)
