"""Model in 2 kernels (mul_26, div), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
Factors are laid out for them first, and float32 numbers split into three bfloat16 parts.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK_M": [64, 128, 256, 32, 16], "BLOCK_N": [16], "BLOCK_K": [32], "GROUP_M": [16, 4, 8, 1], "STAGES": [3, 2, 4], "BLOCK": [1024, 4096, 2048, 8192, 16384], "WARPS": [4, 8]}


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
def step1(conv_transpose_weight, conv_transpose_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 432 * 3
    i0 = at % 3
    at_1 = at // 3
    i4 = at_1
    to = conv_transpose_weight_b + i4 * 3 + i0
    v1 = tl.load(conv_transpose_weight + i0 * 432 + i4, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 16 * 3 * 3 * 3 * 3, middle, mask=mask)
    tl.store(to + 2 * 16 * 3 * 3 * 3 * 3, low, mask=mask)


@triton.jit
def step2(x_a, conv_transpose_weight_b, conv_transpose_bias, mul_26, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 128 * d0 * d1 * d2 * d3 + 32 * d0 * d1 + 32 * d0 * d2 + 32 * d0 * d3 - 64 * d0 * d1 * d2 - 64 * d0 * d1 * d3 - 64 * d0 * d2 * d3 - 16 * d0 > 2147483647 else tl.int32
    tiles_m = tl.cdiv(d0 * d1 * d2 * d3, BLOCK_M)
    tiles_n = tl.cdiv(16, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    at_batch = (tl.program_id(0) // (tiles_m * tiles_n)).to(INDEX)
    i4i = at_batch % 2
    at_batch_2 = at_batch // 2
    i3i = at_batch_2 % 2
    at_batch_2_1 = at_batch_2 // 2
    i2i = at_batch_2_1
    at_m = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = at_m < d0 * d1 * d2 * d3
    i4o = at_m % d3
    at_m_3 = at_m // d3
    i3o = at_m_3 % d2
    at_m_3_2 = at_m_3 // d2
    i2o = at_m_3_2 % d1
    at_m_3_2_1 = at_m_3_2 // d1
    i0 = at_m_3_2_1
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < 16
    at1 = i2o * 2 + i2i
    in_m = in_m & (at1 >= 0) & (at1 < (2 * d1 - 1))
    at2 = i3o * 2 + i3i
    in_m = in_m & (at2 >= 0) & (at2 < (2 * d2 - 1))
    at3 = i4o * 2 + i4i
    in_m = in_m & (at3 >= 0) & (at3 < (2 * d3 - 1))
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 2 * 2 * 2 * 3, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        at_a = at_k[None, :]
        in_a = at_a < 2 * 2 * 2 * 3
        r0 = at_a % 3
        at_a_3 = at_a // 3
        r3o = at_a_3 % 2
        at_a_3_2 = at_a_3 // 2
        r2o = at_a_3_2 % 2
        at_a_3_2_1 = at_a_3_2 // 2
        r1o = at_a_3_2_1
        at_b = at_k[:, None]
        in_b = at_b < 2 * 2 * 2 * 3
        r0b = at_b % 3
        at_b_3 = at_b // 3
        r3ob = at_b_3 % 2
        at_b_3_2 = at_b_3 // 2
        r2ob = at_b_3_2 % 2
        at_b_3_2_1 = at_b_3_2 // 2
        r1ob = at_b_3_2_1
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        at4 = r1o * 2 + ((i2i + 1) % 2)
        at5 = r2o * 2 + ((i3i + 1) % 2)
        at6 = r3o * 2 + ((i4i + 1) % 2)
        at7 = i2o - r1o + ((i2i + 1) // 2)
        at8 = i3o - r2o + ((i3i + 1) // 2)
        at9 = i4o - r3o + ((i4i + 1) // 2)
        left = x_a + i0 * (3 * d1 * d2 * d3) + i2o * (3 * d2 * d3) + r1o * (-3 * d2 * d3) + ((i2i + 1) // 2) * (3 * d2 * d3) + i3o * (3 * d3) + r2o * (-3 * d3) + ((i3i + 1) // 2) * (3 * d3) + i4o * 3 + r3o * -3 + ((i4i + 1) // 2) * 3 + r0
        left_in = in_m & in_a & (at4 >= 0) & (at4 < 3) & (at5 >= 0) & (at5 < 3) & (at6 >= 0) & (at6 < 3) & (at7 >= 0) & (at7 < d1) & (at8 >= 0) & (at8 < d2) & (at9 >= 0) & (at9 < d3)
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * d1 * d2 * d3 * 3, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * d1 * d2 * d3 * 3, mask=left_in, other=0)
        at10 = r1ob * 2 + ((i2i + 1) % 2)
        at11 = r2ob * 2 + ((i3i + 1) % 2)
        at12 = r3ob * 2 + ((i4i + 1) % 2)
        right = conv_transpose_weight_b + i1 * 81 + r1ob * 54 + ((i2i + 1) % 2) * 27 + r2ob * 18 + ((i3i + 1) % 2) * 9 + r3ob * 6 + ((i4i + 1) % 2) * 3 + r0b
        right_in = in_n & in_b & (at10 >= 0) & (at10 < 3) & (at11 >= 0) & (at11 < 3) & (at12 >= 0) & (at12 < 3)
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 16 * 3 * 3 * 3 * 3, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 16 * 3 * 3 * 3 * 3, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    v13 = tl.load(conv_transpose_bias + i1, mask=in_n, other=0).to(tl.float32)
    v14 = (total + v13)
    tl.store(mul_26 + i0 * (128 * d1 * d2 * d3 + 32 * d1 + 32 * d2 + 32 * d3 - 64 * d1 * d2 - 64 * d1 * d3 - 64 * d2 * d3 - 16) + i1 * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1) + i2o * (8 * d2 * d3 + 2 - 4 * d2 - 4 * d3) + i2i * (4 * d2 * d3 + 1 - 2 * d2 - 2 * d3) + i3o * (4 * d3 - 2) + i3i * (2 * d3 - 1) + i4o * 2 + i4i, ((1.0 / (1.0 + tl.exp((-v14)))) * v14), mask=in_m & in_n)


@triton.jit
def step3(mul_26, group_norm_weight, group_norm_bias, out, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i1o = row % 4
    row_1 = row // 4
    i0 = row_1
    acc2 = tl.full([BLOCK], 0.0, tl.float32)
    acc3 = tl.full([BLOCK], 0.0, tl.float32)
    for first in range(0, 4 * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1), BLOCK):
        at = first + tl.arange(0, BLOCK)
        mask = at < 4 * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1)
        i4 = at % (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1)
        at_1 = at // (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1)
        i1i = at_1
        v5 = tl.load(mul_26 + i0 * (128 * d1 * d2 * d3 + 32 * d1 + 32 * d2 + 32 * d3 - 64 * d1 * d2 - 64 * d1 * d3 - 64 * d2 * d3 - 16) + i1o * (32 * d1 * d2 * d3 + 8 * d1 + 8 * d2 + 8 * d3 - 16 * d1 * d2 - 16 * d1 * d3 - 16 * d2 * d3 - 4) + i1i * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1) + i4, mask=mask, other=0).to(tl.float32)
        v4 = tl.where(mask, v5, acc2)
        v6 = v4 - acc2
        acc2 = acc2 + v6 * (1.0 / (first // BLOCK + 1))
        acc3 = acc3 + v6 * (v4 - acc2)
    v7 = (4 * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1) + BLOCK - 1 - tl.arange(0, BLOCK)) // BLOCK
    v8 = tl.sum(acc2 * v7, axis=0)
    v9 = acc2 - v8 / (4 * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1))
    v10 = tl.sum(acc3 + v7 * v9 * v9, axis=0)
    v11 = (32 * d1 * d2 * d3 + 8 * d1 + 8 * d2 + 8 * d3 - 16 * d1 * d2 - 16 * d1 * d3 - 16 * d2 * d3 - 4)
    v12 = (v11 * 1.0)
    v13 = (v8 / v12)
    v15 = tl.rsqrt(((v10 / v12) + 1e-05))
    for first in range(0, 4 * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1), BLOCK):
        at = first + tl.arange(0, BLOCK)
        mask = at < 4 * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1)
        i4 = at % (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1)
        at_1 = at // (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1)
        i1i = at_1
        v1 = tl.load(mul_26 + i0 * (128 * d1 * d2 * d3 + 32 * d1 + 32 * d2 + 32 * d3 - 64 * d1 * d2 - 64 * d1 * d3 - 64 * d2 * d3 - 16) + i1o * (32 * d1 * d2 * d3 + 8 * d1 + 8 * d2 + 8 * d3 - 16 * d1 * d2 - 16 * d1 * d3 - 16 * d2 * d3 - 4) + i1i * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1) + i4, mask=mask, other=0).to(tl.float32)
        v14 = (v1 - v13)
        v16 = tl.load(group_norm_weight + i1o * 4 + i1i, mask=mask, other=0).to(tl.float32)
        v17 = tl.load(group_norm_bias + i1o * 4 + i1i, mask=mask, other=0).to(tl.float32)
        v18 = (((v14 * v15) * v16) + v17)
        tl.store(out + i0 * (128 * d1 * d2 * d3 + 32 * d1 + 32 * d2 + 32 * d3 - 64 * d1 * d2 - 64 * d1 * d3 - 64 * d2 * d3 - 16) + i1o * (32 * d1 * d2 * d3 + 8 * d1 + 8 * d2 + 8 * d3 - 16 * d1 * d2 - 16 * d1 * d3 - 16 * d2 * d3 - 4) + i1i * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1) + i4, ((v18 * tl.minimum(tl.maximum((v18 + 3.0), 0.0), 6.0)) / 6.0), mask=mask)


def launch(conv_transpose_weight, conv_transpose_bias, group_norm_weight, group_norm_bias, x, out, BLOCK_M=64, BLOCK_N=16, BLOCK_K=32, GROUP_M=16, STAGES=3, BLOCK=1024, WARPS=4):
    d0 = x.shape[0]
    d1 = x.shape[2]
    d2 = x.shape[3]
    d3 = x.shape[4]
    mul_26 = scratch((d0, 16, 2 * d1 - 1, 2 * d2 - 1, 2 * d3 - 1,), "float32")
    x_a = scratch((3, d0, d1, d2, d3, 3,), "bfloat16")
    conv_transpose_weight_b = scratch((3, 16, 3, 3, 3, 3,), "bfloat16")
    step0[(triton.cdiv(d0 * (d1 * d2 * d3) * 3, 1024),)](x, x_a, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK=1024, num_warps=4)
    step1[(triton.cdiv(432 * 3, 1024),)](conv_transpose_weight, conv_transpose_weight_b, BLOCK=1024, num_warps=4)
    step2[(2 * 2 * 2 * triton.cdiv(d0 * d1 * d2 * d3, BLOCK_M) * triton.cdiv(16, BLOCK_N),)](x_a, conv_transpose_weight_b, conv_transpose_bias, mul_26, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    step3[(d0 * 4,)](mul_26, group_norm_weight, group_norm_bias, out, d1=d1, d2=d2, d3=d3, BLOCK=BLOCK, num_warps=4)
