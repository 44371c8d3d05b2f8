"""Model in 2 kernels (mul_6, min_1), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
Factors are laid out for them first, and float32 numbers split into three bfloat16 parts.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK_M": [64, 128, 256, 32, 16], "BLOCK_N": [128, 64, 32, 16], "BLOCK_K": [32], "GROUP_M": [16, 4, 8, 1], "STAGES": [3, 2, 4], "BLOCK": [1024, 2048, 512, 4096, 256], "WARPS": [4, 8]}


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
    INDEX: tl.constexpr = tl.int64 if 64 * d0 * d1 * d2 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < d0 * (d1 * d2) * 64
    i1 = at % 64
    at_2 = at // 64
    i3 = at_2 % (d1 * d2)
    at_2_1 = at_2 // (d1 * d2)
    i0 = at_2_1
    to = x_a + i0 * (64 * d1 * d2) + i3 * 64 + i1
    v1 = tl.load(x + i0 * (64 * d1 * d2) + i1 * (d1 * d2) + i3, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * d1 * d2 * 64, middle, mask=mask)
    tl.store(to + 2 * d0 * d1 * d2 * 64, low, mask=mask)


@triton.jit
def step1(conv_weight, conv_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 128 * 9 * 64
    i1 = at % 64
    at_2 = at // 64
    i3 = at_2 % 9
    at_2_1 = at_2 // 9
    i0 = at_2_1
    to = conv_weight_b + i0 * 576 + i3 * 64 + i1
    v1 = tl.load(conv_weight + i0 * 576 + i1 * 9 + i3, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 128 * 3 * 3 * 64, middle, mask=mask)
    tl.store(to + 2 * 128 * 3 * 3 * 64, low, mask=mask)


@triton.jit
def step2(x_a, conv_weight_b, conv_bias, mul_6, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 192 * d0 * d1 * d2 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d0 * (d1 - 2) * (d2 - 2), BLOCK_M)
    tiles_n = tl.cdiv(128, BLOCK_N)
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
    in_n = i1 < 128
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    pieces = tl.cdiv(192, BLOCK_K)
    for step in range(3 * pieces):
        at_window = tl.cast(step // pieces, INDEX)
        at_k = (step % pieces * BLOCK_K + tl.arange(0, BLOCK_K)).to(INDEX)
        r1 = at_window
        r1b = r1
        r0 = at_k[None, :]
        in_a = r0 < 192
        r0b = at_k[:, None]
        in_b = r0b < 192
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = x_a + i0 * (64 * d1 * d2) + i2 * (64 * d2) + r1 * (64 * d2) + i3 * 64 + r0
        left_in = in_m & in_a
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * d1 * d2 * 64, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * d1 * d2 * 64, mask=left_in, other=0)
        right = conv_weight_b + i1 * 576 + r1b * 192 + r0b
        right_in = in_n & in_b
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 128 * 3 * 3 * 64, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 128 * 3 * 3 * 64, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    v1 = tl.load(conv_bias + i1, mask=in_n, other=0).to(tl.float32)
    tl.store(mul_6 + i0 * (128 * d1 * d2 + 512 - 256 * d1 - 256 * d2) + i1 * (d1 * d2 + 4 - 2 * d1 - 2 * d2) + i2 * (d2 - 2) + i3, ((total + v1) * 2.0), mask=in_m & in_n)


@triton.jit
def step3(mul_6, out, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 128 * d0 * d1 * d2 + 512 * d0 - 256 * d0 * d1 - 256 * d0 * d2 > 2000000000 or d0 * d1 * d2 + 4 * d0 - 2 * d0 * d1 - 2 * d0 * d2 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < d0 * (d1 * d2 + 4 - 2 * d1 - 2 * d2)
    i3 = at % (d1 * d2 + 4 - 2 * d1 - 2 * d2)
    at_1 = at // (d1 * d2 + 4 - 2 * d1 - 2 * d2)
    i0 = at_1
    acc1 = tl.full([BLOCK], float("inf"), tl.float32)
    for r0 in range(128):
        v2 = tl.load(mul_6 + i0 * (128 * d1 * d2 + 512 - 256 * d1 - 256 * d2) + r0 * (d1 * d2 + 4 - 2 * d1 - 2 * d2) + i3, mask=mask, other=0).to(tl.float32)
        acc1 = tl.minimum(acc1, v2)
    tl.store(out + i0 * (d1 * d2 + 4 - 2 * d1 - 2 * d2) + i3, acc1, mask=mask)


def launch(conv_weight, conv_bias, x, out, BLOCK_M=64, BLOCK_N=128, BLOCK_K=32, GROUP_M=16, STAGES=3, BLOCK=1024, WARPS=4):
    d0 = x.shape[0]
    d1 = x.shape[2]
    d2 = x.shape[3]
    mul_6 = scratch((d0, 128, d1 - 2, d2 - 2,), "float32")
    x_a = scratch((3, d0, d1, d2, 64,), "bfloat16")
    conv_weight_b = scratch((3, 128, 3, 3, 64,), "bfloat16")
    step0[(triton.cdiv(d0 * (d1 * d2) * 64, 1024),)](x, x_a, d0=d0, d1=d1, d2=d2, BLOCK=1024, num_warps=4)
    step1[(triton.cdiv(128 * 9 * 64, 1024),)](conv_weight, conv_weight_b, BLOCK=1024, num_warps=4)
    step2[(triton.cdiv(d0 * (d1 - 2) * (d2 - 2), BLOCK_M) * triton.cdiv(128, BLOCK_N),)](x_a, conv_weight_b, conv_bias, mul_6, d0=d0, d1=d1, d2=d2, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    step3[(triton.cdiv(d0 * (d1 * d2 + 4 - 2 * d1 - 2 * d2), BLOCK),)](mul_6, out, d0=d0, d1=d1, d2=d2, BLOCK=BLOCK, num_warps=4)
