"""The separable 5x5 stencil as two launches with a scratch field in between.

Unusual, right: binary-exact weights, one field of work space.
"""

import triton
import triton.language as tl

TASK = "stencil5x5"


@triton.jit
def along(x, y, count, extent, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    place = at // stride % extent
    total = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(-2, 3):
        weight = 0.375 if k == 0 else (0.25 if k * k == 1 else 0.0625)
        inside = (at < count) & (place + k >= 0) & (place + k < extent)
        total += weight * tl.load(x + at + k * stride, mask=inside, other=0.0)
    tl.store(y + at, total, mask=at < count)


def launch(x, y):
    h, w, c = x.shape
    work = scratch(x.shape)
    grid = (triton.cdiv(x.size, 512),)
    along[grid](x, work, x.size, h, w * c, BLOCK=512)
    along[grid](work, y, x.size, w, c, BLOCK=512)
