"""Model in 1 kernel (_to_copy_1), generated from its graph.

Hypothesis: a program has one row in registers, so that it is read once and written once.
"""

import triton
import triton.language as tl

SPACE = {"WARPS": [2, 1, 4, 8]}


@triton.jit
def step0(scores_, mask_, out, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if d0 * d1 * d2 * d3 > 2000000000 else tl.int32
    row = tl.program_id(0).to(INDEX)
    i2 = row % d2
    row_2 = row // d2
    i1 = row_2 % d1
    row_2_1 = row_2 // d1
    i0 = row_2_1
    at = tl.arange(0, BLOCK)
    mask = at < d3
    i3 = at
    v1 = tl.load(scores_ + i0 * (d1 * d2 * d3) + i1 * (d2 * d3) + i2 * d3 + i3, mask=mask, other=0).to(tl.float32)
    v2 = tl.load(mask_ + i0 * (d2 * d3) + i2 * d3 + i3, mask=mask, other=0).to(tl.float32)
    v3 = ((v1 * 0.125) + v2)
    v4 = tl.max(tl.where(mask, v3, float("-inf")), axis=0)
    v5 = tl.exp((v3 - v4))
    v6 = tl.sum(tl.where(mask, v5, 0.0), axis=0)
    tl.store(out + i0 * (d1 * d2 * d3) + i1 * (d2 * d3) + i2 * d3 + i3, (v5 / v6), mask=mask)


def launch(scores_, mask_, out, WARPS=2):
    d0 = scores_.shape[0]
    d1 = scores_.shape[1]
    d2 = scores_.shape[2]
    d3 = scores_.shape[3]
    if d3 > 65536:
        raise ValueError("rows this long do not fit the registers of one program")
    step0[(d0 * d1 * d2,)](scores_, mask_, out, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK=triton.next_power_of_2(d3), num_warps=WARPS)
