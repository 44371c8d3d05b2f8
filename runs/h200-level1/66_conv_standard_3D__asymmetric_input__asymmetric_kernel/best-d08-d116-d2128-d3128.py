"""Model in 1 kernel (convolution), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
Factors are laid out for them first, and float32 numbers split into three bfloat16 parts.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK_M": [64, 128, 256, 32, 16], "BLOCK_N": [64, 32, 16], "BLOCK_K": [32], "GROUP_M": [16, 4, 8, 1], "STAGES": [3, 2, 4], "WARPS": [4, 8]}


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
    mask = at < (3 * d0 * d1 * d2 * d3)
    i4 = at
    to = x_a + i4
    v1 = tl.load(x + i4, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * 3 * d1 * d2 * d3, middle, mask=mask)
    tl.store(to + 2 * d0 * 3 * d1 * d2 * d3, low, mask=mask)


@triton.jit
def step1(conv3d_weight, conv3d_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 20160
    i4 = at
    to = conv3d_weight_b + i4
    v1 = tl.load(conv3d_weight + i4, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 64 * 3 * 3 * 5 * 7, middle, mask=mask)
    tl.store(to + 2 * 64 * 3 * 3 * 5 * 7, low, mask=mask)


@triton.jit
def step2(x_a, conv3d_weight_b, out, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 64 * d0 * d1 * d2 * d3 + 1536 * d0 * d1 + 768 * d0 * d2 + 512 * d0 * d3 - 384 * d0 * d1 * d2 - 256 * d0 * d1 * d3 - 128 * d0 * d2 * d3 - 3072 * d0 > 2147483647 or 9 * d0 * d1 * d2 * d3 > 2147483647 else tl.int32
    tiles_m = tl.cdiv(d0 * (d1 - 2) * (d2 - 4) * (d3 - 6), BLOCK_M)
    tiles_n = tl.cdiv(64, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    at_m = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = at_m < d0 * (d1 - 2) * (d2 - 4) * (d3 - 6)
    i4 = at_m % (d3 - 6)
    at_m_3 = at_m // (d3 - 6)
    i3 = at_m_3 % (d2 - 4)
    at_m_3_2 = at_m_3 // (d2 - 4)
    i2 = at_m_3_2 % (d1 - 2)
    at_m_3_2_1 = at_m_3_2 // (d1 - 2)
    i0 = at_m_3_2_1
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < 64
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 3 * 3 * 5 * 7, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        at_a = at_k[None, :]
        in_a = at_a < 3 * 3 * 5 * 7
        r3 = at_a % 7
        at_a_3 = at_a // 7
        r2 = at_a_3 % 5
        at_a_3_2 = at_a_3 // 5
        r1 = at_a_3_2 % 3
        at_a_3_2_1 = at_a_3_2 // 3
        r0 = at_a_3_2_1
        at_b = at_k[:, None]
        in_b = at_b < 3 * 3 * 5 * 7
        r3b = at_b % 7
        at_b_3 = at_b // 7
        r2b = at_b_3 % 5
        at_b_3_2 = at_b_3 // 5
        r1b = at_b_3_2 % 3
        at_b_3_2_1 = at_b_3_2 // 3
        r0b = at_b_3_2_1
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = x_a + i0 * (3 * d1 * d2 * d3) + r0 * (d1 * d2 * d3) + i2 * (d2 * d3) + r1 * (d2 * d3) + i3 * d3 + r2 * d3 + i4 + r3
        left_in = in_m & in_a
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * 3 * d1 * d2 * d3, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * 3 * d1 * d2 * d3, mask=left_in, other=0)
        right = conv3d_weight_b + i1 * 315 + r0b * 105 + r1b * 35 + r2b * 7 + r3b
        right_in = in_n & in_b
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 64 * 3 * 3 * 5 * 7, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 64 * 3 * 3 * 5 * 7, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    tl.store(out + i0 * (64 * d1 * d2 * d3 + 1536 * d1 + 768 * d2 + 512 * d3 - 384 * d1 * d2 - 256 * d1 * d3 - 128 * d2 * d3 - 3072) + i1 * (d1 * d2 * d3 + 24 * d1 + 12 * d2 + 8 * d3 - 6 * d1 * d2 - 4 * d1 * d3 - 2 * d2 * d3 - 48) + i2 * (d2 * d3 + 24 - 6 * d2 - 4 * d3) + i3 * (d3 - 6) + i4, total, mask=in_m & in_n)


def launch(conv3d_weight, x, out, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP_M=16, STAGES=3, WARPS=4):
    d0 = x.shape[0]
    d1 = x.shape[2]
    d2 = x.shape[3]
    d3 = x.shape[4]
    x_a = scratch((3, d0, 3, d1, d2, d3,), "bfloat16")
    conv3d_weight_b = scratch((3, 64, 3, 3, 5, 7,), "bfloat16")
    step0[(triton.cdiv((3 * d0 * d1 * d2 * d3), 1024),)](x, x_a, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK=1024, num_warps=4)
    step1[(triton.cdiv(20160, 1024),)](conv3d_weight, conv3d_weight_b, BLOCK=1024, num_warps=4)
    step2[(triton.cdiv(d0 * (d1 - 2) * (d2 - 4) * (d3 - 6), BLOCK_M) * triton.cdiv(64, BLOCK_N),)](x_a, conv3d_weight_b, out, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
