"""Model in 1 kernel (relu), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
Factors are laid out for them first, and float32 numbers split into three bfloat16 parts.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK_M": [64, 128, 256, 32, 16], "BLOCK_N": [128, 64, 32, 16], "BLOCK_K": [32], "GROUP_M": [16, 4, 8, 1], "STAGES": [3, 2, 4], "WARPS": [4, 8]}


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
    INDEX: tl.constexpr = tl.int64 if 128 * d0 * d1 * d2 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < d0 * (d1 * d2) * 128
    i1 = at % 128
    at_2 = at // 128
    i3 = at_2 % (d1 * d2)
    at_2_1 = at_2 // (d1 * d2)
    i0 = at_2_1
    to = x_a + i0 * (128 * d1 * d2) + i3 * 128 + i1
    v1 = tl.load(x + i0 * (128 * d1 * d2) + i1 * (d1 * d2) + i3, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * d1 * d2 * 128, middle, mask=mask)
    tl.store(to + 2 * d0 * d1 * d2 * 128, low, mask=mask)


@triton.jit
def step1(conv_weight, conv_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 128 * 9 * 128
    i1 = at % 128
    at_2 = at // 128
    i3 = at_2 % 9
    at_2_1 = at_2 // 9
    i0 = at_2_1
    to = conv_weight_b + i0 * 1152 + i3 * 128 + i1
    v1 = tl.load(conv_weight + i0 * 1152 + i1 * 9 + i3, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 128 * 3 * 3 * 128, middle, mask=mask)
    tl.store(to + 2 * 128 * 3 * 3 * 128, low, mask=mask)


@triton.jit
def step2(x_a, conv_weight_b, norm_running_mean, norm_running_var, norm_weight, norm_bias, out, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 384 * d0 * d1 * d2 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d0 * d1 * d2, BLOCK_M)
    tiles_n = tl.cdiv(128, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    at_m = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = at_m < d0 * d1 * d2
    i3 = at_m % d2
    at_m_2 = at_m // d2
    i2 = at_m_2 % d1
    at_m_2_1 = at_m_2 // d1
    i0 = at_m_2_1
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < 128
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    pieces = tl.cdiv(128, BLOCK_K)
    for step in range(3 * 3 * pieces):
        at_window = tl.cast(step // pieces, INDEX)
        at_k = (step % pieces * BLOCK_K + tl.arange(0, BLOCK_K)).to(INDEX)
        r2 = at_window % 3
        at_window_1 = at_window // 3
        r1 = at_window_1
        r1b = r1
        r2b = r2
        r0 = at_k[None, :]
        in_a = r0 < 128
        r0b = at_k[:, None]
        in_b = r0b < 128
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        at1 = i2 + r1 - 1
        at2 = i3 + r2 - 1
        left = x_a + i0 * (128 * d1 * d2) + i2 * (128 * d2) + r1 * (128 * d2) + i3 * 128 + r2 * 128 + r0 - 128 * d2 - 128
        left_in = in_m & in_a & (at1 >= 0) & (at1 < d1) & (at2 >= 0) & (at2 < d2)
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * d1 * d2 * 128, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * d1 * d2 * 128, mask=left_in, other=0)
        right = conv_weight_b + i1 * 1152 + r1b * 384 + r2b * 128 + r0b
        right_in = in_n & in_b
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 128 * 3 * 3 * 128, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 128 * 3 * 3 * 128, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    v3 = tl.load(norm_running_mean + i1, mask=in_n, other=0).to(tl.float32)
    v4 = tl.load(norm_running_var + i1, mask=in_n, other=0).to(tl.float32)
    v5 = tl.load(norm_weight + i1, mask=in_n, other=0).to(tl.float32)
    v6 = tl.load(norm_bias + i1, mask=in_n, other=0).to(tl.float32)
    tl.store(out + i0 * (128 * d1 * d2) + i1 * (d1 * d2) + i2 * d2 + i3, tl.maximum(((((total - v3) * tl.rsqrt((v4 + 1e-05))) * v5) + v6), 0.0), mask=in_m & in_n)


def launch(conv_weight, norm_weight, norm_bias, norm_running_mean, norm_running_var, x, out, BLOCK_M=64, BLOCK_N=128, BLOCK_K=32, GROUP_M=16, STAGES=3, WARPS=4):
    d0 = x.shape[0]
    d1 = x.shape[2]
    d2 = x.shape[3]
    x_a = scratch((3, d0, d1, d2, 128,), "bfloat16")
    conv_weight_b = scratch((3, 128, 3, 3, 128,), "bfloat16")
    step0[(triton.cdiv(d0 * (d1 * d2) * 128, 1024),)](x, x_a, d0=d0, d1=d1, d2=d2, BLOCK=1024, num_warps=4)
    step1[(triton.cdiv(128 * 9 * 128, 1024),)](conv_weight, conv_weight_b, BLOCK=1024, num_warps=4)
    step2[(triton.cdiv(d0 * d1 * d2, BLOCK_M) * triton.cdiv(128, BLOCK_N),)](x_a, conv_weight_b, norm_running_mean, norm_running_var, norm_weight, norm_bias, out, d0=d0, d1=d1, d2=d2, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
