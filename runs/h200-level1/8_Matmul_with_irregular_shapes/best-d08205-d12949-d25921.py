"""Model in 1 kernel (mm), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
Factors are laid out for them first, and float32 numbers split into three bfloat16 parts.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK_M": [64, 128, 256, 32, 16], "BLOCK_N": [128, 64, 256, 32, 16], "BLOCK_K": [32], "GROUP_M": [16, 4, 8, 1], "STAGES": [3, 2, 4], "WARPS": [4, 8]}


@triton.jit
def parts(x):
    """Three bfloat16 numbers whose sum is x."""
    high = x.to(tl.bfloat16)
    rest = x - high.to(tl.float32)
    middle = rest.to(tl.bfloat16)
    return high, middle, (rest - middle.to(tl.float32)).to(tl.bfloat16)


@triton.jit
def six(a0, a1, a2, b0, b1, b2, total):
    """total + a times b: of the nine products of parts those that count, the smallest first."""
    total = tl.dot(a2, b0, total)
    total = tl.dot(a1, b1, total)
    total = tl.dot(a0, b2, total)
    total = tl.dot(a1, b0, total)
    total = tl.dot(a0, b1, total)
    return tl.dot(a0, b0, total)


@triton.jit
def step0(a, a_a, d0: tl.constexpr, d1: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < d0 * (16 * ((d1 + 15) // 16))
    i1 = at % (16 * ((d1 + 15) // 16))
    at_1 = at // (16 * ((d1 + 15) // 16))
    i0 = at_1
    to = a_a + i0 * (16 * ((d1 + 15) // 16)) + i1
    at1 = i1
    inside2 = (at1 >= 0) & (at1 < d1)
    v3 = tl.load(a + i0 * d1 + i1, mask=mask & inside2, other=0).to(tl.float32)
    v4 = tl.where(inside2, v3, 0.0)
    high, middle, low = parts(v4)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * (16 * ((d1 + 15) // 16)), middle, mask=mask)
    tl.store(to + 2 * d0 * (16 * ((d1 + 15) // 16)), low, mask=mask)


@triton.jit
def step1(b, b_b, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < d1 * (16 * ((d2 + 15) // 16))
    i1 = at % (16 * ((d2 + 15) // 16))
    at_1 = at // (16 * ((d2 + 15) // 16))
    i0 = at_1
    to = b_b + i0 * (16 * ((d2 + 15) // 16)) + i1
    at1 = i1
    inside2 = (at1 >= 0) & (at1 < d2)
    v3 = tl.load(b + i0 * d2 + i1, mask=mask & inside2, other=0).to(tl.float32)
    v4 = tl.where(inside2, v3, 0.0)
    high, middle, low = parts(v4)
    tl.store(to, high, mask=mask)
    tl.store(to + d1 * (16 * ((d2 + 15) // 16)), middle, mask=mask)
    tl.store(to + 2 * d1 * (16 * ((d2 + 15) // 16)), low, mask=mask)


@triton.jit
def step2(a_a, b_b, out, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 48 * ((d1 + 15) // 16) * d0 > 2147483647 or 48 * ((d2 + 15) // 16) * d1 > 2147483647 or d0 * d2 > 2147483647 else tl.int32
    tiles_m = tl.cdiv(d0, BLOCK_M)
    tiles_n = tl.cdiv(d2, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    i0 = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = i0 < d0
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < d2
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, d1, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < d1
        r0b = at_k[:, None]
        in_b = r0b < d1
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = a_a + i0 * (16 * ((d1 + 15) // 16)) + r0
        left_in = in_m & (r0 < 16 * ((d1 + 15) // 16))
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * (16 * ((d1 + 15) // 16)), mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * (16 * ((d1 + 15) // 16)), mask=left_in, other=0)
        right = b_b + r0b * (16 * ((d2 + 15) // 16)) + i1
        right_in = (i1 < 16 * ((d2 + 15) // 16)) & in_b
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + d1 * (16 * ((d2 + 15) // 16)), mask=right_in, other=0)
        right2 = tl.load(right + 2 * d1 * (16 * ((d2 + 15) // 16)), mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    tl.store(out + i0 * d2 + i1, total, mask=in_m & in_n)


def launch(a, b, out, BLOCK_M=64, BLOCK_N=128, BLOCK_K=32, GROUP_M=16, STAGES=3, WARPS=4):
    d0 = a.shape[0]
    d1 = a.shape[1]
    d2 = b.shape[1]
    a_a = scratch((3, d0, 16 * ((d1 + 15) // 16),), "bfloat16")
    b_b = scratch((3, d1, 16 * ((d2 + 15) // 16),), "bfloat16")
    step0[(triton.cdiv(d0 * (16 * ((d1 + 15) // 16)), 1024),)](a, a_a, d0=d0, d1=d1, BLOCK=1024, num_warps=4)
    step1[(triton.cdiv(d1 * (16 * ((d2 + 15) // 16)), 1024),)](b, b_b, d1=d1, d2=d2, BLOCK=1024, num_warps=4)
    step2[(triton.cdiv(d0, BLOCK_M) * triton.cdiv(d2, BLOCK_N),)](a_a, b_b, out, d0=d0, d1=d1, d2=d2, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
