"""Model in 2 kernels (addmm, mul_21), generated from its graph.

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
def step0(x, x_a, d0: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 8192 * d0 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < (8192 * d0)
    i1 = at
    to = x_a + i1
    v1 = tl.load(x + i1, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * 8192, middle, mask=mask)
    tl.store(to + 2 * d0 * 8192, low, mask=mask)


@triton.jit
def step1(gemm_weight, gemm_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 67108864
    i1 = at
    to = gemm_weight_b + i1
    v1 = tl.load(gemm_weight + i1, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 8192 * 8192, middle, mask=mask)
    tl.store(to + 2 * 8192 * 8192, low, mask=mask)


@triton.jit
def step2(x_a, gemm_weight_b, gemm_bias, addmm, d0: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 24576 * d0 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d0, BLOCK_M)
    tiles_n = tl.cdiv(8192, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    i0 = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = i0 < d0
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < 8192
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 8192, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < 8192
        r0b = at_k[:, None]
        in_b = r0b < 8192
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = x_a + i0 * 8192 + r0
        left_in = in_m & in_a
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * 8192, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * 8192, mask=left_in, other=0)
        right = gemm_weight_b + i1 * 8192 + r0b
        right_in = in_n & in_b
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 8192 * 8192, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 8192 * 8192, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    v1 = tl.load(gemm_bias + i1, mask=in_n, other=0).to(tl.float32)
    tl.store(addmm + i0 * 8192 + i1, (total + v1), mask=in_m & in_n)


@triton.jit
def step3(addmm, group_norm_weight, group_norm_bias, multiply_weight, out, d0: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 8192 * d0 > 2000000000 else tl.int32
    row = tl.program_id(0).to(INDEX)
    i1o = row % 256
    row_1 = row // 256
    i0 = row_1
    at = tl.arange(0, BLOCK)
    mask = at < 32
    i1i = at
    v1 = tl.load(addmm + i0 * 8192 + i1o * 32 + i1i, mask=mask, other=0).to(tl.float32)
    v2 = tl.sum(tl.where(mask, v1, 0.0), axis=0)
    v3 = (v1 - (v2 / 32.0))
    v4 = tl.sum(tl.where(mask, (v3 * v3), 0.0), axis=0)
    v5 = tl.load(group_norm_weight + i1o * 32 + i1i, mask=mask, other=0).to(tl.float32)
    v6 = tl.load(group_norm_bias + i1o * 32 + i1i, mask=mask, other=0).to(tl.float32)
    v7 = (((v3 * tl.rsqrt(((v4 / 32.0) + 1e-05))) * v5) + v6)
    v8 = tl.load(multiply_weight + i1o * 32 + i1i, mask=mask, other=0).to(tl.float32)
    v9 = ((v7 * (1.0 / (1.0 + tl.exp((-v7))))) * v8)
    tl.store(out + i0 * 8192 + i1o * 32 + i1i, (v9 * (1.0 / (1.0 + tl.exp((-v9))))), mask=mask)


def launch(multiply_weight, gemm_weight, gemm_bias, group_norm_weight, group_norm_bias, x, out, BLOCK_M=64, BLOCK_N=128, BLOCK_K=32, GROUP_M=16, STAGES=3, WARPS=4):
    d0 = x.shape[0]
    addmm = scratch((d0, 8192,), "float32")
    x_a = scratch((3, d0, 8192,), "bfloat16")
    gemm_weight_b = scratch((3, 8192, 8192,), "bfloat16")
    step0[(triton.cdiv((8192 * d0), 1024),)](x, x_a, d0=d0, BLOCK=1024, num_warps=4)
    step1[(triton.cdiv(67108864, 1024),)](gemm_weight, gemm_weight_b, BLOCK=1024, num_warps=4)
    step2[(triton.cdiv(d0, BLOCK_M) * triton.cdiv(8192, BLOCK_N),)](x_a, gemm_weight_b, gemm_bias, addmm, d0=d0, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    if 32 > 65536:
        raise ValueError("rows this long do not fit the registers of one program")
    step3[(d0 * 256,)](addmm, group_norm_weight, group_norm_bias, multiply_weight, out, d0=d0, BLOCK=triton.next_power_of_2(32), num_warps=4)
