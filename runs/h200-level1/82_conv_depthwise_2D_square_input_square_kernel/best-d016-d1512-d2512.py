"""Model in 1 kernel (convolution), generated from its graph.

Hypothesis: a program makes a block of neighbouring elements; reads and writes are whole lines of memory.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 2048, 512, 4096, 256], "WARPS": [4, 8, 2, 16, 1]}


@triton.jit
def step0(x, conv2d_weight, out, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < d0 * 64 * (d1 - 2) * (d2 - 2)
    i3 = at % (d2 - 2)
    at_3 = at // (d2 - 2)
    i2 = at_3 % (d1 - 2)
    at_3_2 = at_3 // (d1 - 2)
    i1 = at_3_2 % 64
    at_3_2_1 = at_3_2 // 64
    i0 = at_3_2_1
    acc1 = tl.full([BLOCK], 0.0, tl.float32)
    for r1 in tl.static_range(3):
        for r2 in tl.static_range(3):
            v2 = tl.load(x + i0 * (64 * d1 * d2) + i1 * (d1 * d2) + i2 * d2 + r1 * d2 + i3 + r2, mask=mask, other=0).to(tl.float32)
            v3 = tl.load(conv2d_weight + i1 * 9 + r1 * 3 + r2, mask=mask, other=0).to(tl.float32)
            acc1 = acc1 + (v2 * v3)
    tl.store(out + i0 * (64 * d1 * d2 + 256 - 128 * d1 - 128 * d2) + i1 * (d1 * d2 + 4 - 2 * d1 - 2 * d2) + i2 * (d2 - 2) + i3, acc1, mask=mask)


def launch(conv2d_weight, x, out, BLOCK=1024, WARPS=4):
    d0 = x.shape[0]
    d1 = x.shape[2]
    d2 = x.shape[3]
    step0[(triton.cdiv(d0 * 64 * (d1 - 2) * (d2 - 2), BLOCK),)](x, conv2d_weight, out, d0=d0, d1=d1, d2=d2, BLOCK=BLOCK, num_warps=WARPS)
