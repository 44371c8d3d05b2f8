"""Model in 2 kernels (leaky_relu_1, max_pool3d_with_indices), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
Factors are laid out for them first, and float32 numbers split into three bfloat16 parts.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK_M": [64, 128, 256, 32, 16], "BLOCK_N": [32, 16], "BLOCK_K": [32], "GROUP_M": [16, 4, 8, 1], "STAGES": [3, 2, 4], "BLOCK": [1024, 2048, 512, 4096, 256], "WARPS": [4, 8]}


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
    mask = at < d0 * (d1 * d2 * d3) * 16
    i1 = at % 16
    at_2 = at // 16
    i4 = at_2 % (d1 * d2 * d3)
    at_2_1 = at_2 // (d1 * d2 * d3)
    i0 = at_2_1
    to = x_a + i0 * (16 * d1 * d2 * d3) + i4 * 16 + i1
    v1 = tl.load(x + i0 * (16 * d1 * d2 * d3) + i1 * (d1 * d2 * d3) + i4, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * d1 * d2 * d3 * 16, middle, mask=mask)
    tl.store(to + 2 * d0 * d1 * d2 * d3 * 16, low, mask=mask)


@triton.jit
def step1(conv_transpose_weight, conv_transpose_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 864 * 16
    i0 = at % 16
    at_1 = at // 16
    i4 = at_1
    to = conv_transpose_weight_b + i4 * 16 + i0
    v1 = tl.load(conv_transpose_weight + i0 * 864 + i4, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 32 * 3 * 3 * 3 * 16, middle, mask=mask)
    tl.store(to + 2 * 32 * 3 * 3 * 3 * 16, low, mask=mask)


@triton.jit
def step2(x_a, conv_transpose_weight_b, conv_transpose_bias, multiplier, leaky_relu_1, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 256 * d0 * d1 * d2 * d3 > 2147483647 else tl.int32
    tiles_m = tl.cdiv(d0 * d1 * d2 * d3, BLOCK_M)
    tiles_n = tl.cdiv(32, BLOCK_N)
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
    in_n = i1 < 32
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 2 * 2 * 2 * 16, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        at_a = at_k[None, :]
        in_a = at_a < 2 * 2 * 2 * 16
        r0 = at_a % 16
        at_a_3 = at_a // 16
        r3o = at_a_3 % 2
        at_a_3_2 = at_a_3 // 2
        r2o = at_a_3_2 % 2
        at_a_3_2_1 = at_a_3_2 // 2
        r1o = at_a_3_2_1
        at_b = at_k[:, None]
        in_b = at_b < 2 * 2 * 2 * 16
        r0b = at_b % 16
        at_b_3 = at_b // 16
        r3ob = at_b_3 % 2
        at_b_3_2 = at_b_3 // 2
        r2ob = at_b_3_2 % 2
        at_b_3_2_1 = at_b_3_2 // 2
        r1ob = at_b_3_2_1
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        at1 = r1o * 2 + ((i2i + 1) % 2)
        at2 = r2o * 2 + ((i3i + 1) % 2)
        at3 = r3o * 2 + ((i4i + 1) % 2)
        at4 = i2o - r1o + ((i2i + 1) // 2)
        at5 = i3o - r2o + ((i3i + 1) // 2)
        at6 = i4o - r3o + ((i4i + 1) // 2)
        left = x_a + i0 * (16 * d1 * d2 * d3) + i2o * (16 * d2 * d3) + r1o * (-16 * d2 * d3) + ((i2i + 1) // 2) * (16 * d2 * d3) + i3o * (16 * d3) + r2o * (-16 * d3) + ((i3i + 1) // 2) * (16 * d3) + i4o * 16 + r3o * -16 + ((i4i + 1) // 2) * 16 + r0
        left_in = in_m & in_a & (at1 >= 0) & (at1 < 3) & (at2 >= 0) & (at2 < 3) & (at3 >= 0) & (at3 < 3) & (at4 >= 0) & (at4 < d1) & (at5 >= 0) & (at5 < d2) & (at6 >= 0) & (at6 < d3)
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * d1 * d2 * d3 * 16, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * d1 * d2 * d3 * 16, mask=left_in, other=0)
        at7 = r1ob * 2 + ((i2i + 1) % 2)
        at8 = r2ob * 2 + ((i3i + 1) % 2)
        at9 = r3ob * 2 + ((i4i + 1) % 2)
        right = conv_transpose_weight_b + i1 * 432 + r1ob * 288 + ((i2i + 1) % 2) * 144 + r2ob * 96 + ((i3i + 1) % 2) * 48 + r3ob * 32 + ((i4i + 1) % 2) * 16 + r0b
        right_in = in_n & in_b & (at7 >= 0) & (at7 < 3) & (at8 >= 0) & (at8 < 3) & (at9 >= 0) & (at9 < 3)
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 32 * 3 * 3 * 3 * 16, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 32 * 3 * 3 * 3 * 16, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    v10 = tl.load(conv_transpose_bias + i1, mask=in_n, other=0).to(tl.float32)
    v11 = (total + v10)
    v12 = tl.load(multiplier + i1, mask=in_n, other=0).to(tl.float32)
    v13 = (tl.where((v11 > 0.0), v11, (v11 * 0.2)) * v12)
    tl.store(leaky_relu_1 + i0 * (256 * d1 * d2 * d3) + i1 * (8 * d1 * d2 * d3) + i2o * (8 * d2 * d3) + i2i * (4 * d2 * d3) + i3o * (4 * d3) + i3i * (2 * d3) + i4o * 2 + i4i, tl.where((v13 > 0.0), v13, (v13 * 0.2)), mask=in_m & in_n)


@triton.jit
def step3(leaky_relu_1, out, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < (32 * d0 * d1) * d2 * d3
    i4 = at % d3
    at_2 = at // d3
    i3 = at_2 % d2
    at_2_1 = at_2 // d2
    i2 = at_2_1
    acc1 = tl.full([BLOCK], float("-inf"), tl.float32)
    for r0 in tl.static_range(2):
        for r1 in tl.static_range(2):
            for r2 in tl.static_range(2):
                v2 = tl.load(leaky_relu_1 + i2 * (8 * d2 * d3) + r0 * (4 * d2 * d3) + i3 * (4 * d3) + r1 * (2 * d3) + i4 * 2 + r2, mask=mask, other=0).to(tl.float32)
                acc1 = tl.maximum(acc1, v2)
    tl.store(out + i2 * (d2 * d3) + i3 * d3 + i4, acc1, mask=mask)


def launch(multiplier, conv_transpose_weight, conv_transpose_bias, x, out, BLOCK_M=64, BLOCK_N=32, BLOCK_K=32, GROUP_M=16, STAGES=3, BLOCK=1024, WARPS=4):
    d0 = x.shape[0]
    d1 = x.shape[2]
    d2 = x.shape[3]
    d3 = x.shape[4]
    leaky_relu_1 = scratch((d0, 32, 2 * d1, 2 * d2, 2 * d3,), "float32")
    x_a = scratch((3, d0, d1, d2, d3, 16,), "bfloat16")
    conv_transpose_weight_b = scratch((3, 32, 3, 3, 3, 16,), "bfloat16")
    step0[(triton.cdiv(d0 * (d1 * d2 * d3) * 16, 1024),)](x, x_a, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK=1024, num_warps=4)
    step1[(triton.cdiv(864 * 16, 1024),)](conv_transpose_weight, conv_transpose_weight_b, BLOCK=1024, num_warps=4)
    step2[(2 * 2 * 2 * triton.cdiv(d0 * d1 * d2 * d3, BLOCK_M) * triton.cdiv(32, BLOCK_N),)](x_a, conv_transpose_weight_b, conv_transpose_bias, multiplier, leaky_relu_1, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    step3[(triton.cdiv((32 * d0 * d1) * d2 * d3, BLOCK),)](leaky_relu_1, out, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK=BLOCK, num_warps=4)
