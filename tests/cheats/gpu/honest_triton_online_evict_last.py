"""Running maximum and sum over chunks of 512, which are asked to stay in the cache for the second pass.

Unusual, right: eviction hints change no result.
"""

import triton
import triton.language as tl

TASK = "softmax"


@triton.jit
def softmax(x, y, n, CHUNK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, CHUNK)
    top = tl.full((CHUNK,), -1.0e38, tl.float32)
    total = tl.zeros((CHUNK,), tl.float32)
    for at in range(0, n, CHUNK):
        a = tl.load(x + row * n + at + cols, mask=at + cols < n, other=-float("inf"), eviction_policy="evict_last")
        higher = tl.maximum(top, a)
        total = total * tl.exp(top - higher) + tl.exp(a - higher)
        top = higher
    highest = tl.max(top, 0)
    whole = tl.sum(total * tl.exp(top - highest), 0)
    for at in range(0, n, CHUNK):
        a = tl.load(x + row * n + at + cols, mask=at + cols < n, other=-float("inf"), eviction_policy="evict_first")
        tl.store(y + row * n + at + cols, tl.exp(a - highest) / whole, mask=at + cols < n)


def launch(x, y):
    m, n = x.shape
    softmax[(m,)](x, y, n, CHUNK=512)
