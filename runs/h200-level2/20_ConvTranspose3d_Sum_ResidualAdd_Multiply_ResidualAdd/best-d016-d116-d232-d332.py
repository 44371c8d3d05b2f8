"""Model in 1 kernel (add_38), generated from its graph.

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
    INDEX: tl.constexpr = tl.int64 if 32 * d0 * d1 * d2 * d3 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < d0 * (d1 * d2 * d3) * 32
    i1 = at % 32
    at_2 = at // 32
    i4 = at_2 % (d1 * d2 * d3)
    at_2_1 = at_2 // (d1 * d2 * d3)
    i0 = at_2_1
    to = x_a + i0 * (32 * d1 * d2 * d3) + i4 * 32 + i1
    v1 = tl.load(x + i0 * (32 * d1 * d2 * d3) + i1 * (d1 * d2 * d3) + i4, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * d1 * d2 * d3 * 32, middle, mask=mask)
    tl.store(to + 2 * d0 * d1 * d2 * d3 * 32, low, mask=mask)


@triton.jit
def step1(conv_transpose_weight, conv_transpose_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 1728 * 32
    i0 = at % 32
    at_1 = at // 32
    i4 = at_1
    to = conv_transpose_weight_b + i4 * 32 + i0
    v1 = tl.load(conv_transpose_weight + i0 * 1728 + i4, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 64 * 3 * 3 * 3 * 32, middle, mask=mask)
    tl.store(to + 2 * 64 * 3 * 3 * 3 * 32, low, mask=mask)


@triton.jit
def step2(x_a, conv_transpose_weight_b, conv_transpose_bias, bias, out, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 512 * d0 * d1 * d2 * d3 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d0 * d1 * d2 * d3, BLOCK_M)
    tiles_n = tl.cdiv(64, BLOCK_N)
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
    in_n = i1 < 64
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    pieces = tl.cdiv(32, BLOCK_K)
    for step in range(2 * 2 * 2 * pieces):
        at_window = tl.cast(step // pieces, INDEX)
        at_k = (step % pieces * BLOCK_K + tl.arange(0, BLOCK_K)).to(INDEX)
        r3o = at_window % 2
        at_window_2 = at_window // 2
        r2o = at_window_2 % 2
        at_window_2_1 = at_window_2 // 2
        r1o = at_window_2_1
        r1ob = r1o
        r2ob = r2o
        r3ob = r3o
        r0 = at_k[None, :]
        in_a = r0 < 32
        r0b = at_k[:, None]
        in_b = r0b < 32
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        at1 = r1o * 2 + ((i2i + 1) % 2) + tl.zeros([1, 1], tl.int32)
        at2 = r2o * 2 + ((i3i + 1) % 2) + tl.zeros([1, 1], tl.int32)
        at3 = r3o * 2 + ((i4i + 1) % 2) + tl.zeros([1, 1], tl.int32)
        at4 = i2o - r1o + ((i2i + 1) // 2)
        at5 = i3o - r2o + ((i3i + 1) // 2)
        at6 = i4o - r3o + ((i4i + 1) // 2)
        left = x_a + i0 * (32 * d1 * d2 * d3) + i2o * (32 * d2 * d3) + r1o * (-32 * d2 * d3) + ((i2i + 1) // 2) * (32 * d2 * d3) + i3o * (32 * d3) + r2o * (-32 * d3) + ((i3i + 1) // 2) * (32 * d3) + i4o * 32 + r3o * -32 + ((i4i + 1) // 2) * 32 + r0
        left_in = in_m & in_a & (at1 >= 0) & (at1 < 3) & (at2 >= 0) & (at2 < 3) & (at3 >= 0) & (at3 < 3) & (at4 >= 0) & (at4 < d1) & (at5 >= 0) & (at5 < d2) & (at6 >= 0) & (at6 < d3)
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * d1 * d2 * d3 * 32, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * d1 * d2 * d3 * 32, mask=left_in, other=0)
        at7 = r1ob * 2 + ((i2i + 1) % 2) + tl.zeros([1, 1], tl.int32)
        at8 = r2ob * 2 + ((i3i + 1) % 2) + tl.zeros([1, 1], tl.int32)
        at9 = r3ob * 2 + ((i4i + 1) % 2) + tl.zeros([1, 1], tl.int32)
        right = conv_transpose_weight_b + i1 * 864 + r1ob * 576 + ((i2i + 1) % 2) * 288 + r2ob * 192 + ((i3i + 1) % 2) * 96 + r3ob * 64 + ((i4i + 1) % 2) * 32 + r0b
        right_in = in_n & in_b & (at7 >= 0) & (at7 < 3) & (at8 >= 0) & (at8 < 3) & (at9 >= 0) & (at9 < 3)
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 64 * 3 * 3 * 3 * 32, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 64 * 3 * 3 * 3 * 32, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    v10 = tl.load(conv_transpose_bias + i1, mask=in_n, other=0).to(tl.float32)
    v11 = (total + v10)
    v12 = tl.load(bias + i1, mask=in_n, other=0).to(tl.float32)
    tl.store(out + i0 * (512 * d1 * d2 * d3) + i1 * (8 * d1 * d2 * d3) + i2o * (8 * d2 * d3) + i2i * (4 * d2 * d3) + i3o * (4 * d3) + i3i * (2 * d3) + i4o * 2 + i4i, ((((v11 + v12) + v11) * v11) + v11), mask=in_m & in_n)


def launch(bias, conv_transpose_weight, conv_transpose_bias, x, out, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP_M=16, STAGES=3, WARPS=4):
    d0 = x.shape[0]
    d1 = x.shape[2]
    d2 = x.shape[3]
    d3 = x.shape[4]
    x_a = scratch((3, d0, d1, d2, d3, 32,), "bfloat16")
    conv_transpose_weight_b = scratch((3, 64, 3, 3, 3, 32,), "bfloat16")
    step0[(triton.cdiv(d0 * (d1 * d2 * d3) * 32, 1024),)](x, x_a, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK=1024, num_warps=4)
    step1[(triton.cdiv(1728 * 32, 1024),)](conv_transpose_weight, conv_transpose_weight_b, BLOCK=1024, num_warps=4)
    step2[(2 * 2 * 2 * triton.cdiv(d0 * d1 * d2 * d3, BLOCK_M) * triton.cdiv(64, BLOCK_N),)](x_a, conv_transpose_weight_b, conv_transpose_bias, bias, out, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
