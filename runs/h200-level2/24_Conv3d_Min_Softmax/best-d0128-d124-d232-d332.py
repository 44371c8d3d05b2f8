"""Model in 3 kernels (convolution, min_1, _softmax), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
Factors are laid out for them first, and float32 numbers split into three bfloat16 parts.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK_M": [64, 128, 256, 32, 16], "BLOCK_N": [32, 16], "BLOCK_K": [32], "GROUP_M": [16, 4, 8, 1], "STAGES": [3, 2, 4], "LANES": [32, 64, 16, 128, 256], "PIECE": [16, 32, 8, 64, 4], "WARPS": [4, 8]}


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
    mask = at < d0 * (d1 * d2 * d3) * 3
    i1 = at % 3
    at_2 = at // 3
    i4 = at_2 % (d1 * d2 * d3)
    at_2_1 = at_2 // (d1 * d2 * d3)
    i0 = at_2_1
    to = x_a + i0 * (3 * d1 * d2 * d3) + i4 * 3 + i1
    v1 = tl.load(x + i0 * (3 * d1 * d2 * d3) + i1 * (d1 * d2 * d3) + i4, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * d1 * d2 * d3 * 3, middle, mask=mask)
    tl.store(to + 2 * d0 * d1 * d2 * d3 * 3, low, mask=mask)


@triton.jit
def step1(conv_weight, conv_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 24 * 27 * 3
    i1 = at % 3
    at_2 = at // 3
    i4 = at_2 % 27
    at_2_1 = at_2 // 27
    i0 = at_2_1
    to = conv_weight_b + i0 * 81 + i4 * 3 + i1
    v1 = tl.load(conv_weight + i0 * 81 + i1 * 27 + i4, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 24 * 3 * 3 * 3 * 3, middle, mask=mask)
    tl.store(to + 2 * 24 * 3 * 3 * 3 * 3, low, mask=mask)


@triton.jit
def step2(x_a, conv_weight_b, conv_bias, convolution, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 24 * d0 * d1 * d2 * d3 + 96 * d0 * d1 + 96 * d0 * d2 + 96 * d0 * d3 - 48 * d0 * d1 * d2 - 48 * d0 * d1 * d3 - 48 * d0 * d2 * d3 - 192 * d0 > 2147483647 or 9 * d0 * d1 * d2 * d3 > 2147483647 else tl.int32
    tiles_m = tl.cdiv(d0 * (d1 - 2) * (d2 - 2) * (d3 - 2), BLOCK_M)
    tiles_n = tl.cdiv(24, BLOCK_N)
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
    in_n = i1 < 24
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 3 * 3 * 9, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        at_a = at_k[None, :]
        in_a = at_a < 3 * 3 * 9
        r0 = at_a % 9
        at_a_2 = at_a // 9
        r2 = at_a_2 % 3
        at_a_2_1 = at_a_2 // 3
        r1 = at_a_2_1
        at_b = at_k[:, None]
        in_b = at_b < 3 * 3 * 9
        r0b = at_b % 9
        at_b_2 = at_b // 9
        r2b = at_b_2 % 3
        at_b_2_1 = at_b_2 // 3
        r1b = at_b_2_1
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = x_a + i0 * (3 * d1 * d2 * d3) + i2 * (3 * d2 * d3) + r1 * (3 * d2 * d3) + i3 * (3 * d3) + r2 * (3 * d3) + i4 * 3 + r0
        left_in = in_m & in_a
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * d1 * d2 * d3 * 3, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * d1 * d2 * d3 * 3, mask=left_in, other=0)
        right = conv_weight_b + i1 * 81 + r1b * 27 + r2b * 9 + r0b
        right_in = in_n & in_b
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 24 * 3 * 3 * 3 * 3, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 24 * 3 * 3 * 3 * 3, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    v1 = tl.load(conv_bias + i1, mask=in_n, other=0).to(tl.float32)
    tl.store(convolution + i0 * (24 * d1 * d2 * d3 + 96 * d1 + 96 * d2 + 96 * d3 - 48 * d1 * d2 - 48 * d1 * d3 - 48 * d2 * d3 - 192) + i1 * (d1 * d2 * d3 + 4 * d1 + 4 * d2 + 4 * d3 - 2 * d1 * d2 - 2 * d1 * d3 - 2 * d2 * d3 - 8) + i2 * (d2 * d3 + 4 - 2 * d2 - 2 * d3) + i3 * (d3 - 2) + i4, (total + v1), mask=in_m & in_n)


@triton.jit
def step3(convolution, min_1, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK: tl.constexpr, LANES: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    blocks = tl.cdiv((d2 * d3 + 4 - 2 * d2 - 2 * d3), LANES)
    i3 = (row % blocks) * LANES + tl.arange(0, LANES)[None, :]
    there = i3 < (d2 * d3 + 4 - 2 * d2 - 2 * d3)
    row = row // blocks
    i1 = row
    acc1 = tl.full([BLOCK, LANES], float("inf"), tl.float32)
    for first in range(0, (d1 - 2), BLOCK):
        at = first + tl.arange(0, BLOCK)[:, None]
        mask = (at < (d1 - 2)) & there
        r0 = at
        v2 = tl.load(convolution + i1 * (d1 * d2 * d3 + 4 * d1 + 4 * d2 + 4 * d3 - 2 * d1 * d2 - 2 * d1 * d3 - 2 * d2 * d3 - 8) + r0 * (d2 * d3 + 4 - 2 * d2 - 2 * d3) + i3, mask=mask, other=0).to(tl.float32)
        acc1 = tl.minimum(acc1, tl.where(mask, v2, float("inf")))
    v3 = tl.min(acc1, axis=0, keep_dims=True)
    tl.store(min_1 + i1 * (d2 * d3 + 4 - 2 * d2 - 2 * d3) + i3, v3, mask=there)


@triton.jit
def step4(min_1, out, d2: tl.constexpr, d3: tl.constexpr, BLOCK: tl.constexpr, LANES: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    blocks = tl.cdiv((d2 * d3 + 4 - 2 * d2 - 2 * d3), LANES)
    i3 = (row % blocks) * LANES + tl.arange(0, LANES)[None, :]
    there = i3 < (d2 * d3 + 4 - 2 * d2 - 2 * d3)
    row = row // blocks
    i0 = row
    acc2 = tl.full([BLOCK, LANES], float("-inf"), tl.float32)
    acc3 = tl.full([BLOCK, LANES], 0.0, tl.float32)
    for first in range(0, 24, BLOCK):
        at = first + tl.arange(0, BLOCK)[:, None]
        mask = (at < 24) & there
        i1 = at
        v5 = tl.load(min_1 + i0 * (24 * d2 * d3 + 96 - 48 * d2 - 48 * d3) + i1 * (d2 * d3 + 4 - 2 * d2 - 2 * d3) + i3, mask=mask, other=0).to(tl.float32)
        v4 = tl.where(mask, v5, float("-inf"))
        v7 = tl.maximum(acc2, v4)
        near6 = tl.where(v7 == float("-inf"), 0.0, v7)
        acc3 = acc3 * tl.exp(acc2 - near6) + tl.exp(v4 - near6)
        acc2 = v7
    v8 = tl.max(acc2, axis=0, keep_dims=True)
    v9 = tl.sum(tl.where(acc2 == float("-inf"), 0.0, acc3 * tl.exp(acc2 - v8)), axis=0, keep_dims=True)
    for first in range(0, 24, BLOCK):
        at = first + tl.arange(0, BLOCK)[:, None]
        mask = (at < 24) & there
        i1 = at
        v1 = tl.load(min_1 + i0 * (24 * d2 * d3 + 96 - 48 * d2 - 48 * d3) + i1 * (d2 * d3 + 4 - 2 * d2 - 2 * d3) + i3, mask=mask, other=0).to(tl.float32)
        v10 = tl.exp((v1 - v8))
        tl.store(out + i0 * (24 * d2 * d3 + 96 - 48 * d2 - 48 * d3) + i1 * (d2 * d3 + 4 - 2 * d2 - 2 * d3) + i3, (v10 / v9), mask=mask)


def launch(conv_weight, conv_bias, x, out, BLOCK_M=64, BLOCK_N=32, BLOCK_K=32, GROUP_M=16, STAGES=3, LANES=32, PIECE=16, WARPS=4):
    d0 = x.shape[0]
    d1 = x.shape[2]
    d2 = x.shape[3]
    d3 = x.shape[4]
    convolution = scratch((d0, 24, d1 - 2, d2 - 2, d3 - 2,), "float32")
    min_1 = scratch((d0, 24, d2 - 2, d3 - 2,), "float32")
    x_a = scratch((3, d0, d1, d2, d3, 3,), "bfloat16")
    conv_weight_b = scratch((3, 24, 3, 3, 3, 3,), "bfloat16")
    step0[(triton.cdiv(d0 * (d1 * d2 * d3) * 3, 1024),)](x, x_a, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK=1024, num_warps=4)
    step1[(triton.cdiv(24 * 27 * 3, 1024),)](conv_weight, conv_weight_b, BLOCK=1024, num_warps=4)
    step2[(triton.cdiv(d0 * (d1 - 2) * (d2 - 2) * (d3 - 2), BLOCK_M) * triton.cdiv(24, BLOCK_N),)](x_a, conv_weight_b, conv_bias, convolution, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    step3[((24 * d0) * triton.cdiv((d2 * d3 + 4 - 2 * d2 - 2 * d3), LANES),)](convolution, min_1, d1=d1, d2=d2, d3=d3, LANES=LANES, BLOCK=PIECE, num_warps=4)
    step4[(d0 * triton.cdiv((d2 * d3 + 4 - 2 * d2 - 2 * d3), LANES),)](min_1, out, d2=d2, d3=d3, LANES=LANES, BLOCK=PIECE, num_warps=4)
