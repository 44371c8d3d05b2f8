"""Model in 2 kernels (convolution, clamp), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK_M": [128, 64, 256, 32, 16], "BLOCK_N": [16], "BLOCK_K": [32, 64, 16], "GROUP_M": [8, 16, 4, 1], "PRECISION": ["bf16x6", "tf32x3", "ieee"], "STAGES": [3, 2, 4], "BLOCK": [1024, 2048, 512, 4096, 256], "WARPS": [8, 4]}


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
def dot(a, b, total, PRECISION: tl.constexpr):
    """total + a times b."""
    if PRECISION == "bf16x6":
        a0, a1, a2 = parts(a)
        b0, b1, b2 = parts(b)
        return six(a0, a1, a2, b0, b1, b2, total)
    elif PRECISION == "bf16" or PRECISION == "f16":
        short: tl.constexpr = tl.bfloat16 if PRECISION == "bf16" else tl.float16
        return tl.dot(a.to(short), b.to(short), total)
    else:
        return tl.dot(a, b, total, input_precision=PRECISION)


@triton.jit
def step0(x, conv_transpose_weight, conv_transpose_bias, convolution, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, PRECISION: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 128 * d0 * d1 * d2 * d3 + 32 * d0 * d1 + 32 * d0 * d2 + 32 * d0 * d3 - 64 * d0 * d1 * d2 - 64 * d0 * d1 * d3 - 64 * d0 * d2 * d3 - 16 * d0 > 2000000000 else tl.int32
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
    for first in range(0, 3 * 2 * 2 * 2, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        at_a = at_k[None, :]
        in_a = at_a < 3 * 2 * 2 * 2
        r3o = at_a % 2
        at_a_3 = at_a // 2
        r2o = at_a_3 % 2
        at_a_3_2 = at_a_3 // 2
        r1o = at_a_3_2 % 2
        at_a_3_2_1 = at_a_3_2 // 2
        r0 = at_a_3_2_1
        at_b = at_k[:, None]
        in_b = at_b < 3 * 2 * 2 * 2
        r3ob = at_b % 2
        at_b_3 = at_b // 2
        r2ob = at_b_3 % 2
        at_b_3_2 = at_b_3 // 2
        r1ob = at_b_3_2 % 2
        at_b_3_2_1 = at_b_3_2 // 2
        r0b = at_b_3_2_1
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        at4 = r1o * 2 + ((i2i + 1) % 2)
        at5 = r2o * 2 + ((i3i + 1) % 2)
        at6 = r3o * 2 + ((i4i + 1) % 2)
        at7 = i2o - r1o + ((i2i + 1) // 2)
        at8 = i3o - r2o + ((i3i + 1) // 2)
        at9 = i4o - r3o + ((i4i + 1) // 2)
        left = tl.load(x + i0 * (3 * d1 * d2 * d3) + r0 * (d1 * d2 * d3) + i2o * (d2 * d3) + r1o * (-d2 * d3) + ((i2i + 1) // 2) * (d2 * d3) + i3o * d3 + r2o * (-d3) + ((i3i + 1) // 2) * d3 + i4o - r3o + ((i4i + 1) // 2), mask=in_m & in_a & (at4 >= 0) & (at4 < 3) & (at5 >= 0) & (at5 < 3) & (at6 >= 0) & (at6 < 3) & (at7 >= 0) & (at7 < d1) & (at8 >= 0) & (at8 < d2) & (at9 >= 0) & (at9 < d3), other=0)
        at10 = r1ob * 2 + ((i2i + 1) % 2)
        at11 = r2ob * 2 + ((i3i + 1) % 2)
        at12 = r3ob * 2 + ((i4i + 1) % 2)
        right = tl.load(conv_transpose_weight + r0b * 432 + i1 * 27 + r1ob * 18 + ((i2i + 1) % 2) * 9 + r2ob * 6 + ((i3i + 1) % 2) * 3 + r3ob * 2 + ((i4i + 1) % 2), mask=in_n & in_b & (at10 >= 0) & (at10 < 3) & (at11 >= 0) & (at11 < 3) & (at12 >= 0) & (at12 < 3), other=0)
        fresh = dot(left, right, fresh, PRECISION)
        total += fresh
    v13 = tl.load(conv_transpose_bias + i1, mask=in_n, other=0).to(tl.float32)
    tl.store(convolution + i0 * (128 * d1 * d2 * d3 + 32 * d1 + 32 * d2 + 32 * d3 - 64 * d1 * d2 - 64 * d1 * d3 - 64 * d2 * d3 - 16) + i1 * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1) + i2o * (8 * d2 * d3 + 2 - 4 * d2 - 4 * d3) + i2i * (4 * d2 * d3 + 1 - 2 * d2 - 2 * d3) + i3o * (4 * d3 - 2) + i3i * (2 * d3 - 1) + i4o * 2 + i4i, (total + v13), mask=in_m & in_n)


@triton.jit
def step1(convolution, bias, out, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 128 * d0 * d1 * d2 * d3 + 32 * d0 * d1 + 32 * d0 * d2 + 32 * d0 * d3 - 64 * d0 * d1 * d2 - 64 * d0 * d1 * d3 - 64 * d0 * d2 * d3 - 16 * d0 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < d0 * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1)
    i4 = at % (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1)
    at_1 = at // (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1)
    i0 = at_1
    acc1 = tl.full([BLOCK], float("-inf"), tl.float32)
    for r1 in tl.static_range(16):
        v2 = tl.load(convolution + i0 * (128 * d1 * d2 * d3 + 32 * d1 + 32 * d2 + 32 * d3 - 64 * d1 * d2 - 64 * d1 * d3 - 64 * d2 * d3 - 16) + r1 * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1) + i4, mask=mask, other=0).to(tl.float32)
        acc1 = tl.maximum(acc1, v2)
    v3 = (tl.abs(acc1) == float("inf"))
    acc4 = tl.full([BLOCK], 0.0, tl.float32)
    for r1 in tl.static_range(16):
        v5 = tl.load(convolution + i0 * (128 * d1 * d2 * d3 + 32 * d1 + 32 * d2 + 32 * d3 - 64 * d1 * d2 - 64 * d1 * d3 - 64 * d2 * d3 - 16) + r1 * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1) + i4, mask=mask, other=0).to(tl.float32)
        acc4 = acc4 + tl.exp((v5 - acc1))
    v6 = (tl.log(tl.where(v3, tl.where((acc1 > 0.0), float("inf"), 0.0), acc4)) + tl.where(v3, 0.0, acc1))
    v7 = tl.load(bias + 0).to(tl.float32)
    tl.store(out + i0 * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1) + i4, tl.minimum(tl.maximum((((v6 * (1.0 / (1.0 + tl.exp((-(v6 + 3.0)))))) / 6.0) - v7), -1.0), 1.0), mask=mask)


def launch(bias, conv_transpose_weight, conv_transpose_bias, x, out, BLOCK_M=128, BLOCK_N=16, BLOCK_K=32, GROUP_M=8, PRECISION="bf16x6", STAGES=3, BLOCK=1024, WARPS=8):
    d0 = x.shape[0]
    d1 = x.shape[2]
    d2 = x.shape[3]
    d3 = x.shape[4]
    convolution = scratch((d0, 16, 2 * d1 - 1, 2 * d2 - 1, 2 * d3 - 1,), "float32")
    step0[(2 * 2 * 2 * triton.cdiv(d0 * d1 * d2 * d3, BLOCK_M) * triton.cdiv(16, BLOCK_N),)](x, conv_transpose_weight, conv_transpose_bias, convolution, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, PRECISION=PRECISION, num_warps=WARPS, num_stages=STAGES)
    step1[(triton.cdiv(d0 * (8 * d1 * d2 * d3 + 2 * d1 + 2 * d2 + 2 * d3 - 4 * d1 * d2 - 4 * d1 * d3 - 4 * d2 * d3 - 1), BLOCK),)](convolution, bias, out, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK=BLOCK, num_warps=4)
