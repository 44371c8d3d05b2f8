"""Model in 2 kernels (div, sum_1), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
Factors are laid out for them first, and float32 numbers split into three bfloat16 parts.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK_M": [64, 128, 256, 32, 16], "BLOCK_N": [16], "BLOCK_K": [32], "GROUP_M": [16, 4, 8, 1], "STAGES": [3, 2, 4], "WARPS": [4, 8]}


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
def step0(x, x_a, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < d0 * (d1 * d2 * d3) * 8
    i1 = at % 8
    at_2 = at // 8
    i4 = at_2 % (d1 * d2 * d3)
    at_2_1 = at_2 // (d1 * d2 * d3)
    i0 = at_2_1
    to = x_a + i0 * (8 * d1 * d2 * d3) + i4 * 8 + i1
    v1 = tl.load(x + i0 * (8 * d1 * d2 * d3) + i1 * (d1 * d2 * d3) + i4, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * d1 * d2 * d3 * 8, middle, mask=mask)
    tl.store(to + 2 * d0 * d1 * d2 * d3 * 8, low, mask=mask)


@triton.jit
def step1(conv_weight, conv_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 16 * 27 * 8
    i1 = at % 8
    at_2 = at // 8
    i4 = at_2 % 27
    at_2_1 = at_2 // 27
    i0 = at_2_1
    to = conv_weight_b + i0 * 216 + i4 * 8 + i1
    v1 = tl.load(conv_weight + i0 * 216 + i1 * 27 + i4, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 16 * 3 * 3 * 3 * 8, middle, mask=mask)
    tl.store(to + 2 * 16 * 3 * 3 * 3 * 8, low, mask=mask)


@triton.jit
def step2(x_a, conv_weight_b, conv_bias, div, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 24 * d0 * d1 * d2 * d3 > 2147483647 else tl.int32
    tiles_m = tl.cdiv(d0 * (d1 - 2) * (d2 - 2) * (d3 - 2), BLOCK_M)
    tiles_n = tl.cdiv(16, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    at_m = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = at_m < d0 * (d1 - 2) * (d2 - 2) * (d3 - 2)
    i4 = at_m % (d3 - 2)
    at_m_3 = at_m // (d3 - 2)
    i3 = at_m_3 % (d2 - 2)
    at_m_3_2 = at_m_3 // (d2 - 2)
    i2 = at_m_3_2 % (d1 - 2)
    at_m_3_2_1 = at_m_3_2 // (d1 - 2)
    i0 = at_m_3_2_1
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < 16
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 3 * 3 * 24, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        at_a = at_k[None, :]
        in_a = at_a < 3 * 3 * 24
        r0 = at_a % 24
        at_a_2 = at_a // 24
        r2 = at_a_2 % 3
        at_a_2_1 = at_a_2 // 3
        r1 = at_a_2_1
        at_b = at_k[:, None]
        in_b = at_b < 3 * 3 * 24
        r0b = at_b % 24
        at_b_2 = at_b // 24
        r2b = at_b_2 % 3
        at_b_2_1 = at_b_2 // 3
        r1b = at_b_2_1
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = x_a + i0 * (8 * d1 * d2 * d3) + i2 * (8 * d2 * d3) + r1 * (8 * d2 * d3) + i3 * (8 * d3) + r2 * (8 * d3) + i4 * 8 + r0
        left_in = in_m & in_a
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * d1 * d2 * d3 * 8, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * d1 * d2 * d3 * 8, mask=left_in, other=0)
        right = conv_weight_b + i1 * 216 + r1b * 72 + r2b * 24 + r0b
        right_in = in_n & in_b
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 16 * 3 * 3 * 3 * 8, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 16 * 3 * 3 * 3 * 8, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    v1 = tl.load(conv_bias + i1, mask=in_n, other=0).to(tl.float32)
    tl.store(div + i0 * (16 * d1 * d2 * d3 + 64 * d1 + 64 * d2 + 64 * d3 - 32 * d1 * d2 - 32 * d1 * d3 - 32 * d2 * d3 - 128) + i1 * (d1 * d2 * d3 + 4 * d1 + 4 * d2 + 4 * d3 - 2 * d1 * d2 - 2 * d1 * d3 - 2 * d2 * d3 - 8) + i2 * (d2 * d3 + 4 - 2 * d2 - 2 * d3) + i3 * (d3 - 2) + i4, ((total + v1) / 2.0), mask=in_m & in_n)


@triton.jit
def step3(div, bias, out, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i0 = row
    at = tl.arange(0, BLOCK)
    mask = at < ((d1 // 2) - 1) * ((d2 // 2) - 1) * ((d3 // 2) - 1)
    r3 = at % ((d3 // 2) - 1)
    at_2 = at // ((d3 // 2) - 1)
    r2 = at_2 % ((d2 // 2) - 1)
    at_2_1 = at_2 // ((d2 // 2) - 1)
    r1 = at_2_1
    acc1 = tl.full([], 0.0, tl.float32)
    v10 = ((d1 // 2) * (d2 // 2) * (d3 // 2) + (d1 // 2) + (d2 // 2) + (d3 // 2) - (d1 // 2) * (d2 // 2) - (d1 // 2) * (d3 // 2) - (d2 // 2) * (d3 // 2) - 1)
    v11 = (v10 * 1.0)
    for r0 in tl.static_range(16):
        acc2 = tl.full([BLOCK], float("-inf"), tl.float32)
        for r4 in tl.static_range(2):
            for r5 in tl.static_range(2):
                for r6 in tl.static_range(2):
                    at3 = r1 * 2 + r4
                    at4 = r2 * 2 + r5
                    at5 = r3 * 2 + r6
                    inside6 = (at3 >= 0) & (at3 < (d1 - 2)) & (at4 >= 0) & (at4 < (d2 - 2)) & (at5 >= 0) & (at5 < (d3 - 2))
                    v7 = tl.load(div + i0 * (16 * d1 * d2 * d3 + 64 * d1 + 64 * d2 + 64 * d3 - 32 * d1 * d2 - 32 * d1 * d3 - 32 * d2 * d3 - 128) + r0 * (d1 * d2 * d3 + 4 * d1 + 4 * d2 + 4 * d3 - 2 * d1 * d2 - 2 * d1 * d3 - 2 * d2 * d3 - 8) + r1 * (2 * d2 * d3 + 8 - 4 * d2 - 4 * d3) + r4 * (d2 * d3 + 4 - 2 * d2 - 2 * d3) + r2 * (2 * d3 - 4) + r5 * (d3 - 2) + r3 * 2 + r6, mask=mask & inside6, other=0).to(tl.float32)
                    v8 = tl.where(inside6, v7, float("-inf"))
                    acc2 = tl.maximum(acc2, v8)
        v9 = tl.sum(tl.where(mask, acc2, 0.0), axis=0)
        v12 = tl.load(bias + r0).to(tl.float32)
        acc1 = acc1 + ((v9 / v11) + v12)
    tl.store(out + i0, acc1)


def launch(bias, conv_weight, conv_bias, x, out, BLOCK_M=64, BLOCK_N=16, BLOCK_K=32, GROUP_M=16, STAGES=3, WARPS=4):
    d0 = x.shape[0]
    d1 = x.shape[2]
    d2 = x.shape[3]
    d3 = x.shape[4]
    div = scratch((d0, 16, d1 - 2, d2 - 2, d3 - 2,), "float32")
    x_a = scratch((3, d0, d1, d2, d3, 8,), "bfloat16")
    conv_weight_b = scratch((3, 16, 3, 3, 3, 8,), "bfloat16")
    step0[(triton.cdiv(d0 * (d1 * d2 * d3) * 8, 1024),)](x, x_a, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK=1024, num_warps=4)
    step1[(triton.cdiv(16 * 27 * 8, 1024),)](conv_weight, conv_weight_b, BLOCK=1024, num_warps=4)
    step2[(triton.cdiv(d0 * (d1 - 2) * (d2 - 2) * (d3 - 2), BLOCK_M) * triton.cdiv(16, BLOCK_N),)](x_a, conv_weight_b, conv_bias, div, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    if ((d1 // 2) - 1) * ((d2 // 2) - 1) * ((d3 // 2) - 1) > 65536:
        raise ValueError("rows this long do not fit the registers of one program")
    step3[(d0,)](div, bias, out, d1=d1, d2=d2, d3=d3, BLOCK=triton.next_power_of_2(((d1 // 2) - 1) * ((d2 // 2) - 1) * ((d3 // 2) - 1)), num_warps=4)
