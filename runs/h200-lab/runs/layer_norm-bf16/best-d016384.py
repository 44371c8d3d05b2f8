"""Model in 1 kernel (native_layer_norm), generated from its graph.

Hypothesis: a program has one row in registers, so that it is read once and written once.
"""

import triton
import triton.language as tl

SPACE = {"WARPS": [8, 4, 16, 2, 32]}


@triton.jit
def step0(x, weight, bias, out, d0: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 4096 * d0 > 2000000000 else tl.int32
    row = tl.program_id(0).to(INDEX)
    i0 = row
    at = tl.arange(0, BLOCK)
    mask = at < 4096
    i1 = at
    v1 = tl.load(x + i0 * 4096 + i1, mask=mask, other=0).to(tl.float32)
    v2 = tl.sum(tl.where(mask, v1, 0.0), axis=0)
    v3 = (v1 - (v2 / 4096.0))
    v4 = tl.sum(tl.where(mask, (v3 * v3), 0.0), axis=0)
    v5 = tl.load(weight + i1, mask=mask, other=0).to(tl.float32)
    v6 = tl.load(bias + i1, mask=mask, other=0).to(tl.float32)
    tl.store(out + i0 * 4096 + i1, (((v3 * tl.rsqrt(((v4 / 4096.0) + 1e-05))) * v5) + v6), mask=mask)


def launch(weight, bias, x, out, WARPS=8):
    d0 = x.shape[0]
    if 4096 > 65536:
        raise ValueError("rows this long do not fit the registers of one program")
    step0[(d0,)](x, weight, bias, out, d0=d0, BLOCK=triton.next_power_of_2(4096), num_warps=WARPS)
