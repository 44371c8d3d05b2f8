"""Model in 2 kernels (add_29, max_pool2d_with_indices), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
Factors are laid out for them first, and float32 numbers split into three bfloat16 parts.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice

SPACE = {"BLOCK_M": [64, 128, 256, 32, 16], "BLOCK_N": [64, 32, 16], "BLOCK_K": [32], "GROUP_M": [16, 4, 8, 1], "STAGES": [3, 2, 4], "BLOCK": [1024, 2048, 512, 4096, 256], "WARPS": [4, 8]}


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
def step0(x, x_a, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 8 * d0 * d1 * d2 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < d0 * (d1 * d2) * 8
    i1 = at % 8
    at_2 = at // 8
    i3 = at_2 % (d1 * d2)
    at_2_1 = at_2 // (d1 * d2)
    i0 = at_2_1
    to = x_a + i0 * (8 * d1 * d2) + i3 * 8 + i1
    v1 = tl.load(x + i0 * (8 * d1 * d2) + i1 * (d1 * d2) + i3, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * d1 * d2 * 8, middle, mask=mask)
    tl.store(to + 2 * d0 * d1 * d2 * 8, low, mask=mask)


@triton.jit
def step1(conv_weight, conv_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 64 * 9 * 8
    i1 = at % 8
    at_2 = at // 8
    i3 = at_2 % 9
    at_2_1 = at_2 // 9
    i0 = at_2_1
    to = conv_weight_b + i0 * 72 + i3 * 8 + i1
    v1 = tl.load(conv_weight + i0 * 72 + i1 * 9 + i3, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 64 * 3 * 3 * 8, middle, mask=mask)
    tl.store(to + 2 * 64 * 3 * 3 * 8, low, mask=mask)


@triton.jit
def step2(x_a, conv_weight_b, conv_bias, bias, add_29, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 24 * d0 * d1 * d2 > 2000000000 or 64 * d0 * d1 * d2 + 256 * d0 - 128 * d0 * d1 - 128 * d0 * d2 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d0 * (d1 - 2) * (d2 - 2), BLOCK_M)
    tiles_n = tl.cdiv(64, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    at_m = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = at_m < d0 * (d1 - 2) * (d2 - 2)
    i3 = at_m % (d2 - 2)
    at_m_2 = at_m // (d2 - 2)
    i2 = at_m_2 % (d1 - 2)
    at_m_2_1 = at_m_2 // (d1 - 2)
    i0 = at_m_2_1
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < 64
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 3 * 24, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        at_a = at_k[None, :]
        in_a = at_a < 3 * 24
        r0 = at_a % 24
        at_a_1 = at_a // 24
        r1 = at_a_1
        at_b = at_k[:, None]
        in_b = at_b < 3 * 24
        r0b = at_b % 24
        at_b_1 = at_b // 24
        r1b = at_b_1
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = x_a + i0 * (8 * d1 * d2) + i2 * (8 * d2) + r1 * (8 * d2) + i3 * 8 + r0
        left_in = in_m & in_a
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * d1 * d2 * 8, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * d1 * d2 * 8, mask=left_in, other=0)
        right = conv_weight_b + i1 * 72 + r1b * 24 + r0b
        right_in = in_n & in_b
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 64 * 3 * 3 * 8, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 64 * 3 * 3 * 8, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    v1 = tl.load(conv_bias + i1, mask=in_n, other=0).to(tl.float32)
    v2 = tl.load(bias + i1, mask=in_n, other=0).to(tl.float32)
    tl.store(add_29 + i0 * (64 * d1 * d2 + 256 - 128 * d1 - 128 * d2) + i1 * (d1 * d2 + 4 - 2 * d1 - 2 * d2) + i2 * (d2 - 2) + i3, ((libdevice.tanh((total + v1)) * 2.0) + v2), mask=in_m & in_n)


@triton.jit
def step3(add_29, out, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 64 * ((-6 + d1) // 4) * ((-6 + d2) // 4) * d0 + 64 * ((-6 + d1) // 4) * d0 + 64 * ((-6 + d2) // 4) * d0 + 64 * d0 > 2000000000 or 64 * d0 * d1 * d2 + 256 * d0 - 128 * d0 * d1 - 128 * d0 * d2 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < (64 * d0) * (((-6 + d1) // 4) + 1) * (((-6 + d2) // 4) + 1)
    i3 = at % (((-6 + d2) // 4) + 1)
    at_2 = at // (((-6 + d2) // 4) + 1)
    i2 = at_2 % (((-6 + d1) // 4) + 1)
    at_2_1 = at_2 // (((-6 + d1) // 4) + 1)
    i1 = at_2_1
    acc1 = tl.full([BLOCK], float("-inf"), tl.float32)
    for r0 in tl.static_range(4):
        for r1 in tl.static_range(4):
            at2 = i2 * 4 + r0
            at3 = i3 * 4 + r1
            inside4 = (at2 >= 0) & (at2 < (d1 - 2)) & (at3 >= 0) & (at3 < (d2 - 2))
            v5 = tl.load(add_29 + i1 * (d1 * d2 + 4 - 2 * d1 - 2 * d2) + i2 * (4 * d2 - 8) + r0 * (d2 - 2) + i3 * 4 + r1, mask=mask & inside4, other=0).to(tl.float32)
            v6 = tl.where(inside4, v5, float("-inf"))
            acc1 = tl.maximum(acc1, v6)
    tl.store(out + i1 * (((-6 + d1) // 4) * ((-6 + d2) // 4) + ((-6 + d1) // 4) + ((-6 + d2) // 4) + 1) + i2 * (((-6 + d2) // 4) + 1) + i3, acc1, mask=mask)


def launch(bias, conv_weight, conv_bias, x, out, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP_M=16, STAGES=3, BLOCK=1024, WARPS=4):
    d0 = x.shape[0]
    d1 = x.shape[2]
    d2 = x.shape[3]
    add_29 = scratch((d0, 64, d1 - 2, d2 - 2,), "float32")
    x_a = scratch((3, d0, d1, d2, 8,), "bfloat16")
    conv_weight_b = scratch((3, 64, 3, 3, 8,), "bfloat16")
    step0[(triton.cdiv(d0 * (d1 * d2) * 8, 1024),)](x, x_a, d0=d0, d1=d1, d2=d2, BLOCK=1024, num_warps=4)
    step1[(triton.cdiv(64 * 9 * 8, 1024),)](conv_weight, conv_weight_b, BLOCK=1024, num_warps=4)
    step2[(triton.cdiv(d0 * (d1 - 2) * (d2 - 2), BLOCK_M) * triton.cdiv(64, BLOCK_N),)](x_a, conv_weight_b, conv_bias, bias, add_29, d0=d0, d1=d1, d2=d2, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    step3[(triton.cdiv((64 * d0) * (((-6 + d1) // 4) + 1) * (((-6 + d2) // 4) + 1), BLOCK),)](add_29, out, d0=d0, d1=d1, d2=d2, BLOCK=BLOCK, num_warps=4)
