"""Model in 10 kernels (convolution, relu, max_pool2d_with_indices, convolution_1, relu_1, max_pool2d_with_indices_1, convolution_2, relu_2, mean, addmm), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
Factors are laid out for them first, and float32 numbers split into three bfloat16 parts.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK_M": [128, 64, 256, 32, 16], "BLOCK_N": [64, 32, 16], "BLOCK_K": [64, 32, 128], "GROUP_M": [8, 16, 4, 1], "STAGES": [3, 2, 4], "BLOCK": [1024, 2048, 512, 4096, 256], "WARPS": [8, 4]}


@triton.jit
def step0(x, x_a, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 3 * d0 * d1 * d2 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < d0 * (d1 * d2) * 3
    i1 = at % 3
    at_2 = at // 3
    i3 = at_2 % (d1 * d2)
    at_2_1 = at_2 // (d1 * d2)
    i0 = at_2_1
    v1 = tl.load(x + i0 * (3 * d1 * d2) + i1 * (d1 * d2) + i3, mask=mask, other=0).to(tl.float32)
    tl.store(x_a + i0 * (3 * d1 * d2) + i3 * 3 + i1, v1, mask=mask)


@triton.jit
def step1(features_0_weight, features_0_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 64 * 9 * 3
    i1 = at % 3
    at_2 = at // 3
    i3 = at_2 % 9
    at_2_1 = at_2 // 9
    i0 = at_2_1
    v1 = tl.load(features_0_weight + i0 * 27 + i1 * 9 + i3, mask=mask, other=0).to(tl.float32)
    tl.store(features_0_weight_b + i0 * 27 + i3 * 3 + i1, v1, mask=mask)


@triton.jit
def step2(x_a, features_0_weight_b, features_0_bias, convolution, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 64 * d0 * d1 * d2 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d0 * d1 * d2, BLOCK_M)
    tiles_n = tl.cdiv(64, BLOCK_N)
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
    in_n = i1 < 64
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 3 * 3 * 3, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        at_a = at_k[None, :]
        in_a = at_a < 3 * 3 * 3
        r0 = at_a % 3
        at_a_2 = at_a // 3
        r2 = at_a_2 % 3
        at_a_2_1 = at_a_2 // 3
        r1 = at_a_2_1
        at_b = at_k[:, None]
        in_b = at_b < 3 * 3 * 3
        r0b = at_b % 3
        at_b_2 = at_b // 3
        r2b = at_b_2 % 3
        at_b_2_1 = at_b_2 // 3
        r1b = at_b_2_1
        at1 = i2 + r1 - 1
        at2 = i3 + r2 - 1
        left = tl.load(x_a + i0 * (3 * d1 * d2) + i2 * (3 * d2) + r1 * (3 * d2) + i3 * 3 + r2 * 3 + r0 - 3 * d2 - 3, mask=in_m & in_a & (at1 >= 0) & (at1 < d1) & (at2 >= 0) & (at2 < d2), other=0)
        right = tl.load(features_0_weight_b + i1 * 27 + r1b * 9 + r2b * 3 + r0b, mask=in_n & in_b, other=0)
        total = tl.dot(left, right, total)
    v3 = tl.load(features_0_bias + i1, mask=in_n, other=0).to(tl.float32)
    tl.store(convolution + i0 * (64 * d1 * d2) + i1 * (d1 * d2) + i2 * d2 + i3, (total + v3), mask=in_m & in_n)


@triton.jit
def step3(convolution, features_1_weight, features_1_bias, relu, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 64 * d0 * d1 * d2 > 2000000000 else tl.int32
    row = tl.program_id(0).to(INDEX)
    i1o = row % 4
    row_1 = row // 4
    i0 = row_1
    at = tl.arange(0, BLOCK)
    mask = at < 16 * (d1 * d2)
    i3 = at % (d1 * d2)
    at_1 = at // (d1 * d2)
    i1i = at_1
    v1 = tl.load(convolution + i0 * (64 * d1 * d2) + i1o * (16 * d1 * d2) + i1i * (d1 * d2) + i3, mask=mask, other=0).to(tl.float32)
    v2 = tl.sum(tl.where(mask, v1, 0.0), axis=0)
    v3 = (16 * d1 * d2)
    v4 = (v3 * 1.0)
    v5 = (v1 - (v2 / v4))
    v6 = tl.sum(tl.where(mask, (v5 * v5), 0.0), axis=0)
    v7 = tl.load(features_1_weight + i1o * 16 + i1i, mask=mask, other=0).to(tl.float32)
    v8 = tl.load(features_1_bias + i1o * 16 + i1i, mask=mask, other=0).to(tl.float32)
    tl.store(relu + i0 * (64 * d1 * d2) + i1o * (16 * d1 * d2) + i1i * (d1 * d2) + i3, tl.maximum((((v5 * tl.rsqrt(((v6 / v4) + 1e-05))) * v7) + v8), 0.0), mask=mask)


@triton.jit
def step4(relu, max_pool2d_with_indices, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 64 * d0 * (d1 // 2) * (d2 // 2) > 2000000000 or 64 * d0 * d1 * d2 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < (64 * d0) * (d1 // 2) * (d2 // 2)
    i3 = at % (d2 // 2)
    at_2 = at // (d2 // 2)
    i2 = at_2 % (d1 // 2)
    at_2_1 = at_2 // (d1 // 2)
    i1 = at_2_1
    acc1 = tl.full([BLOCK], float("-inf"), tl.float32)
    for r0 in tl.static_range(2):
        for r1 in tl.static_range(2):
            at2 = i2 * 2 + r0
            at3 = i3 * 2 + r1
            inside4 = (at2 >= 0) & (at2 < d1) & (at3 >= 0) & (at3 < d2)
            v5 = tl.load(relu + i1 * (d1 * d2) + i2 * (2 * d2) + r0 * d2 + i3 * 2 + r1, mask=mask & inside4, other=0).to(tl.float32)
            v6 = tl.where(inside4, v5, float("-inf"))
            acc1 = tl.maximum(acc1, v6)
    tl.store(max_pool2d_with_indices + i1 * ((d1 // 2) * (d2 // 2)) + i2 * (d2 // 2) + i3, acc1, mask=mask)


@triton.jit
def step5(max_pool2d_with_indices, max_pool2d_with_indices_a, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 64 * d0 * (d1 // 2) * (d2 // 2) > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < d0 * ((d1 // 2) * (d2 // 2)) * 64
    i1 = at % 64
    at_2 = at // 64
    i3 = at_2 % ((d1 // 2) * (d2 // 2))
    at_2_1 = at_2 // ((d1 // 2) * (d2 // 2))
    i0 = at_2_1
    v1 = tl.load(max_pool2d_with_indices + i0 * (64 * (d1 // 2) * (d2 // 2)) + i1 * ((d1 // 2) * (d2 // 2)) + i3, mask=mask, other=0).to(tl.float32)
    tl.store(max_pool2d_with_indices_a + i0 * (64 * (d1 // 2) * (d2 // 2)) + i3 * 64 + i1, v1, mask=mask)


@triton.jit
def step6(features_4_weight, features_4_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 128 * 9 * 64
    i1 = at % 64
    at_2 = at // 64
    i3 = at_2 % 9
    at_2_1 = at_2 // 9
    i0 = at_2_1
    v1 = tl.load(features_4_weight + i0 * 576 + i1 * 9 + i3, mask=mask, other=0).to(tl.float32)
    tl.store(features_4_weight_b + i0 * 576 + i3 * 64 + i1, v1, mask=mask)


@triton.jit
def step7(max_pool2d_with_indices_a, features_4_weight_b, features_4_bias, convolution_1, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 128 * d0 * (d1 // 2) * (d2 // 2) > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d0 * (d1 // 2) * (d2 // 2), BLOCK_M)
    tiles_n = tl.cdiv(128, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    at_m = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = at_m < d0 * (d1 // 2) * (d2 // 2)
    i3 = at_m % (d2 // 2)
    at_m_2 = at_m // (d2 // 2)
    i2 = at_m_2 % (d1 // 2)
    at_m_2_1 = at_m_2 // (d1 // 2)
    i0 = at_m_2_1
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < 128
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    pieces = tl.cdiv(64, BLOCK_K)
    for step in range(3 * 3 * pieces):
        at_window = tl.cast(step // pieces, INDEX)
        at_k = (step % pieces * BLOCK_K + tl.arange(0, BLOCK_K)).to(INDEX)
        r2 = at_window % 3
        at_window_1 = at_window // 3
        r1 = at_window_1
        r1b = r1
        r2b = r2
        r0 = at_k[None, :]
        in_a = r0 < 64
        r0b = at_k[:, None]
        in_b = r0b < 64
        at1 = i2 + r1 - 1
        at2 = i3 + r2 - 1
        left = tl.load(max_pool2d_with_indices_a + i0 * (64 * (d1 // 2) * (d2 // 2)) + i2 * (64 * (d2 // 2)) + r1 * (64 * (d2 // 2)) + i3 * 64 + r2 * 64 + r0 - 64 * (d2 // 2) - 64, mask=in_m & in_a & (at1 >= 0) & (at1 < (d1 // 2)) & (at2 >= 0) & (at2 < (d2 // 2)), other=0)
        right = tl.load(features_4_weight_b + i1 * 576 + r1b * 192 + r2b * 64 + r0b, mask=in_n & in_b, other=0)
        total = tl.dot(left, right, total)
    v3 = tl.load(features_4_bias + i1, mask=in_n, other=0).to(tl.float32)
    tl.store(convolution_1 + i0 * (128 * (d1 // 2) * (d2 // 2)) + i1 * ((d1 // 2) * (d2 // 2)) + i2 * (d2 // 2) + i3, (total + v3), mask=in_m & in_n)


@triton.jit
def step8(convolution_1, features_5_weight, features_5_bias, relu_1, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 128 * d0 * (d1 // 2) * (d2 // 2) > 2000000000 else tl.int32
    row = tl.program_id(0).to(INDEX)
    i1o = row % 4
    row_1 = row // 4
    i0 = row_1
    at = tl.arange(0, BLOCK)
    mask = at < 32 * ((d1 // 2) * (d2 // 2))
    i3 = at % ((d1 // 2) * (d2 // 2))
    at_1 = at // ((d1 // 2) * (d2 // 2))
    i1i = at_1
    v1 = tl.load(convolution_1 + i0 * (128 * (d1 // 2) * (d2 // 2)) + i1o * (32 * (d1 // 2) * (d2 // 2)) + i1i * ((d1 // 2) * (d2 // 2)) + i3, mask=mask, other=0).to(tl.float32)
    v2 = tl.sum(tl.where(mask, v1, 0.0), axis=0)
    v3 = (32 * (d1 // 2) * (d2 // 2))
    v4 = (v3 * 1.0)
    v5 = (v1 - (v2 / v4))
    v6 = tl.sum(tl.where(mask, (v5 * v5), 0.0), axis=0)
    v7 = tl.load(features_5_weight + i1o * 32 + i1i, mask=mask, other=0).to(tl.float32)
    v8 = tl.load(features_5_bias + i1o * 32 + i1i, mask=mask, other=0).to(tl.float32)
    tl.store(relu_1 + i0 * (128 * (d1 // 2) * (d2 // 2)) + i1o * (32 * (d1 // 2) * (d2 // 2)) + i1i * ((d1 // 2) * (d2 // 2)) + i3, tl.maximum((((v5 * tl.rsqrt(((v6 / v4) + 1e-05))) * v7) + v8), 0.0), mask=mask)


@triton.jit
def step9(relu_1, max_pool2d_with_indices_1, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 128 * d0 * (d1 // 2) * (d2 // 2) > 2000000000 or 128 * d0 * (d1 // 4) * (d2 // 4) > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < (128 * d0) * (d1 // 4) * (d2 // 4)
    i3 = at % (d2 // 4)
    at_2 = at // (d2 // 4)
    i2 = at_2 % (d1 // 4)
    at_2_1 = at_2 // (d1 // 4)
    i1 = at_2_1
    acc1 = tl.full([BLOCK], float("-inf"), tl.float32)
    for r0 in tl.static_range(2):
        for r1 in tl.static_range(2):
            at2 = i2 * 2 + r0
            at3 = i3 * 2 + r1
            inside4 = (at2 >= 0) & (at2 < (d1 // 2)) & (at3 >= 0) & (at3 < (d2 // 2))
            v5 = tl.load(relu_1 + i1 * ((d1 // 2) * (d2 // 2)) + i2 * (2 * (d2 // 2)) + r0 * (d2 // 2) + i3 * 2 + r1, mask=mask & inside4, other=0).to(tl.float32)
            v6 = tl.where(inside4, v5, float("-inf"))
            acc1 = tl.maximum(acc1, v6)
    tl.store(max_pool2d_with_indices_1 + i1 * ((d1 // 4) * (d2 // 4)) + i2 * (d2 // 4) + i3, acc1, mask=mask)


@triton.jit
def step10(max_pool2d_with_indices_1, max_pool2d_with_indices_1_a, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 128 * d0 * (d1 // 4) * (d2 // 4) > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < d0 * ((d1 // 4) * (d2 // 4)) * 128
    i1 = at % 128
    at_2 = at // 128
    i3 = at_2 % ((d1 // 4) * (d2 // 4))
    at_2_1 = at_2 // ((d1 // 4) * (d2 // 4))
    i0 = at_2_1
    v1 = tl.load(max_pool2d_with_indices_1 + i0 * (128 * (d1 // 4) * (d2 // 4)) + i1 * ((d1 // 4) * (d2 // 4)) + i3, mask=mask, other=0).to(tl.float32)
    tl.store(max_pool2d_with_indices_1_a + i0 * (128 * (d1 // 4) * (d2 // 4)) + i3 * 128 + i1, v1, mask=mask)


@triton.jit
def step11(features_8_weight, features_8_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 256 * 9 * 128
    i1 = at % 128
    at_2 = at // 128
    i3 = at_2 % 9
    at_2_1 = at_2 // 9
    i0 = at_2_1
    v1 = tl.load(features_8_weight + i0 * 1152 + i1 * 9 + i3, mask=mask, other=0).to(tl.float32)
    tl.store(features_8_weight_b + i0 * 1152 + i3 * 128 + i1, v1, mask=mask)


@triton.jit
def step12(max_pool2d_with_indices_1_a, features_8_weight_b, features_8_bias, convolution_2, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 256 * d0 * (d1 // 4) * (d2 // 4) > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d0 * (d1 // 4) * (d2 // 4), BLOCK_M)
    tiles_n = tl.cdiv(256, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    at_m = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = at_m < d0 * (d1 // 4) * (d2 // 4)
    i3 = at_m % (d2 // 4)
    at_m_2 = at_m // (d2 // 4)
    i2 = at_m_2 % (d1 // 4)
    at_m_2_1 = at_m_2 // (d1 // 4)
    i0 = at_m_2_1
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < 256
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
        at1 = i2 + r1 - 1
        at2 = i3 + r2 - 1
        left = tl.load(max_pool2d_with_indices_1_a + i0 * (128 * (d1 // 4) * (d2 // 4)) + i2 * (128 * (d2 // 4)) + r1 * (128 * (d2 // 4)) + i3 * 128 + r2 * 128 + r0 - 128 * (d2 // 4) - 128, mask=in_m & in_a & (at1 >= 0) & (at1 < (d1 // 4)) & (at2 >= 0) & (at2 < (d2 // 4)), other=0)
        right = tl.load(features_8_weight_b + i1 * 1152 + r1b * 384 + r2b * 128 + r0b, mask=in_n & in_b, other=0)
        total = tl.dot(left, right, total)
    v3 = tl.load(features_8_bias + i1, mask=in_n, other=0).to(tl.float32)
    tl.store(convolution_2 + i0 * (256 * (d1 // 4) * (d2 // 4)) + i1 * ((d1 // 4) * (d2 // 4)) + i2 * (d2 // 4) + i3, (total + v3), mask=in_m & in_n)


@triton.jit
def step13(convolution_2, features_9_weight, features_9_bias, relu_2, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 256 * d0 * (d1 // 4) * (d2 // 4) > 2000000000 else tl.int32
    row = tl.program_id(0).to(INDEX)
    i1o = row % 4
    row_1 = row // 4
    i0 = row_1
    at = tl.arange(0, BLOCK)
    mask = at < 64 * ((d1 // 4) * (d2 // 4))
    i3 = at % ((d1 // 4) * (d2 // 4))
    at_1 = at // ((d1 // 4) * (d2 // 4))
    i1i = at_1
    v1 = tl.load(convolution_2 + i0 * (256 * (d1 // 4) * (d2 // 4)) + i1o * (64 * (d1 // 4) * (d2 // 4)) + i1i * ((d1 // 4) * (d2 // 4)) + i3, mask=mask, other=0).to(tl.float32)
    v2 = tl.sum(tl.where(mask, v1, 0.0), axis=0)
    v3 = (64 * (d1 // 4) * (d2 // 4))
    v4 = (v3 * 1.0)
    v5 = (v1 - (v2 / v4))
    v6 = tl.sum(tl.where(mask, (v5 * v5), 0.0), axis=0)
    v7 = tl.load(features_9_weight + i1o * 64 + i1i, mask=mask, other=0).to(tl.float32)
    v8 = tl.load(features_9_bias + i1o * 64 + i1i, mask=mask, other=0).to(tl.float32)
    tl.store(relu_2 + i0 * (256 * (d1 // 4) * (d2 // 4)) + i1o * (64 * (d1 // 4) * (d2 // 4)) + i1i * ((d1 // 4) * (d2 // 4)) + i3, tl.maximum((((v5 * tl.rsqrt(((v6 / v4) + 1e-05))) * v7) + v8), 0.0), mask=mask)


@triton.jit
def step14(relu_2, mean, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 256 * d0 * (d1 // 4) * (d2 // 4) > 2000000000 else tl.int32
    row = tl.program_id(0).to(INDEX)
    i1 = row
    at = tl.arange(0, BLOCK)
    mask = at < (d1 // 8) * (d2 // 8)
    r1 = at % (d2 // 8)
    at_1 = at // (d2 // 8)
    r0 = at_1
    acc1 = tl.full([BLOCK], float("-inf"), tl.float32)
    for r2 in range(2):
        for r3 in range(2):
            at2 = r0 * 2 + r2
            at3 = r1 * 2 + r3
            inside4 = (at2 >= 0) & (at2 < (d1 // 4)) & (at3 >= 0) & (at3 < (d2 // 4))
            v5 = tl.load(relu_2 + i1 * ((d1 // 4) * (d2 // 4)) + r0 * (2 * (d2 // 4)) + r2 * (d2 // 4) + r1 * 2 + r3, mask=mask & inside4, other=0).to(tl.float32)
            v6 = tl.where(inside4, v5, float("-inf"))
            acc1 = tl.maximum(acc1, v6)
    v7 = tl.sum(tl.where(mask, acc1, 0.0), axis=0)
    v8 = ((d1 // 8) * (d2 // 8))
    tl.store(mean + i1, (v7 / (v8 * 1.0)))


@triton.jit
def step15(mean, head_weight, head_bias, out, d0: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 256 * d0 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d0, BLOCK_M)
    tiles_n = tl.cdiv(10, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    i0 = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = i0 < d0
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < 10
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 256, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < 256
        r0b = at_k[:, None]
        in_b = r0b < 256
        left = tl.load(mean + i0 * 256 + r0, mask=in_m & in_a, other=0)
        right = tl.load(head_weight + i1 * 256 + r0b, mask=in_n & in_b, other=0)
        total = tl.dot(left, right, total)
    v1 = tl.load(head_bias + i1, mask=in_n, other=0).to(tl.float32)
    tl.store(out + i0 * 10 + i1, (total + v1), mask=in_m & in_n)


def launch(features_0_weight, features_0_bias, features_1_weight, features_1_bias, features_4_weight, features_4_bias, features_5_weight, features_5_bias, features_8_weight, features_8_bias, features_9_weight, features_9_bias, head_weight, head_bias, x, out, BLOCK_M=128, BLOCK_N=64, BLOCK_K=64, GROUP_M=8, STAGES=3, BLOCK=1024, WARPS=8):
    d0 = x.shape[0]
    d1 = x.shape[2]
    d2 = x.shape[3]
    convolution = scratch((d0, 64, d1, d2,), "bfloat16")
    relu = scratch((d0, 64, d1, d2,), "bfloat16")
    max_pool2d_with_indices = scratch((d0, 64, (d1 // 2), (d2 // 2),), "bfloat16")
    convolution_1 = scratch((d0, 128, (d1 // 2), (d2 // 2),), "bfloat16")
    relu_1 = scratch((d0, 128, (d1 // 2), (d2 // 2),), "bfloat16")
    max_pool2d_with_indices_1 = scratch((d0, 128, (d1 // 4), (d2 // 4),), "bfloat16")
    convolution_2 = scratch((d0, 256, (d1 // 4), (d2 // 4),), "bfloat16")
    relu_2 = scratch((d0, 256, (d1 // 4), (d2 // 4),), "bfloat16")
    mean = scratch((d0, 256,), "bfloat16")
    x_a = scratch((d0, d1, d2, 3,), "bfloat16")
    features_0_weight_b = scratch((64, 3, 3, 3,), "bfloat16")
    max_pool2d_with_indices_a = scratch((d0, (d1 // 2), (d2 // 2), 64,), "bfloat16")
    features_4_weight_b = scratch((128, 3, 3, 64,), "bfloat16")
    max_pool2d_with_indices_1_a = scratch((d0, (d1 // 4), (d2 // 4), 128,), "bfloat16")
    features_8_weight_b = scratch((256, 3, 3, 128,), "bfloat16")
    step0[(triton.cdiv(d0 * (d1 * d2) * 3, 1024),)](x, x_a, d0=d0, d1=d1, d2=d2, BLOCK=1024, num_warps=4)
    step1[(triton.cdiv(64 * 9 * 3, 1024),)](features_0_weight, features_0_weight_b, BLOCK=1024, num_warps=4)
    step2[(triton.cdiv(d0 * d1 * d2, BLOCK_M) * triton.cdiv(64, BLOCK_N),)](x_a, features_0_weight_b, features_0_bias, convolution, d0=d0, d1=d1, d2=d2, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    if 16 * (d1 * d2) > 65536:
        raise ValueError("rows this long do not fit the registers of one program")
    step3[(d0 * 4,)](convolution, features_1_weight, features_1_bias, relu, d0=d0, d1=d1, d2=d2, BLOCK=triton.next_power_of_2(16 * (d1 * d2)), num_warps=4)
    step4[(triton.cdiv((64 * d0) * (d1 // 2) * (d2 // 2), BLOCK),)](relu, max_pool2d_with_indices, d0=d0, d1=d1, d2=d2, BLOCK=BLOCK, num_warps=4)
    step5[(triton.cdiv(d0 * ((d1 // 2) * (d2 // 2)) * 64, 1024),)](max_pool2d_with_indices, max_pool2d_with_indices_a, d0=d0, d1=d1, d2=d2, BLOCK=1024, num_warps=4)
    step6[(triton.cdiv(128 * 9 * 64, 1024),)](features_4_weight, features_4_weight_b, BLOCK=1024, num_warps=4)
    step7[(triton.cdiv(d0 * (d1 // 2) * (d2 // 2), BLOCK_M) * triton.cdiv(128, BLOCK_N),)](max_pool2d_with_indices_a, features_4_weight_b, features_4_bias, convolution_1, d0=d0, d1=d1, d2=d2, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    if 32 * ((d1 // 2) * (d2 // 2)) > 65536:
        raise ValueError("rows this long do not fit the registers of one program")
    step8[(d0 * 4,)](convolution_1, features_5_weight, features_5_bias, relu_1, d0=d0, d1=d1, d2=d2, BLOCK=triton.next_power_of_2(32 * ((d1 // 2) * (d2 // 2))), num_warps=4)
    step9[(triton.cdiv((128 * d0) * (d1 // 4) * (d2 // 4), BLOCK),)](relu_1, max_pool2d_with_indices_1, d0=d0, d1=d1, d2=d2, BLOCK=BLOCK, num_warps=4)
    step10[(triton.cdiv(d0 * ((d1 // 4) * (d2 // 4)) * 128, 1024),)](max_pool2d_with_indices_1, max_pool2d_with_indices_1_a, d0=d0, d1=d1, d2=d2, BLOCK=1024, num_warps=4)
    step11[(triton.cdiv(256 * 9 * 128, 1024),)](features_8_weight, features_8_weight_b, BLOCK=1024, num_warps=4)
    step12[(triton.cdiv(d0 * (d1 // 4) * (d2 // 4), BLOCK_M) * triton.cdiv(256, BLOCK_N),)](max_pool2d_with_indices_1_a, features_8_weight_b, features_8_bias, convolution_2, d0=d0, d1=d1, d2=d2, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    if 64 * ((d1 // 4) * (d2 // 4)) > 65536:
        raise ValueError("rows this long do not fit the registers of one program")
    step13[(d0 * 4,)](convolution_2, features_9_weight, features_9_bias, relu_2, d0=d0, d1=d1, d2=d2, BLOCK=triton.next_power_of_2(64 * ((d1 // 4) * (d2 // 4))), num_warps=4)
    if (d1 // 8) * (d2 // 8) > 65536:
        raise ValueError("rows this long do not fit the registers of one program")
    step14[((256 * d0),)](relu_2, mean, d0=d0, d1=d1, d2=d2, BLOCK=triton.next_power_of_2((d1 // 8) * (d2 // 8)), num_warps=4)
    step15[(triton.cdiv(d0, BLOCK_M) * triton.cdiv(10, BLOCK_N),)](mean, head_weight, head_bias, out, d0=d0, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
