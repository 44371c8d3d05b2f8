"""Model in 1 kernel (add_12), generated from its graph.

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
    INDEX: tl.constexpr = tl.int64 if 4096 * d0 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < (4096 * d0)
    i1 = at
    to = x_a + i1
    v1 = tl.load(x + i1, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * 4096, middle, mask=mask)
    tl.store(to + 2 * d0 * 4096, low, mask=mask)


@triton.jit
def step1(matmul_weight, matmul_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 16777216
    i1 = at
    to = matmul_weight_b + i1
    v1 = tl.load(matmul_weight + i1, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 4096 * 4096, middle, mask=mask)
    tl.store(to + 2 * 4096 * 4096, low, mask=mask)


@triton.jit
def step2(x_a, matmul_weight_b, matmul_bias, out, d0: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 12288 * d0 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d0, BLOCK_M)
    tiles_n = tl.cdiv(4096, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    i0 = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = i0 < d0
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < 4096
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 4096, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < 4096
        r0b = at_k[:, None]
        in_b = r0b < 4096
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = x_a + i0 * 4096 + r0
        left_in = in_m & in_a
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * 4096, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * 4096, mask=left_in, other=0)
        right = matmul_weight_b + i1 * 4096 + r0b
        right_in = in_n & in_b
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 4096 * 4096, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 4096 * 4096, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    v1 = tl.load(matmul_bias + i1, mask=in_n, other=0).to(tl.float32)
    v2 = (total + v1)
    tl.store(out + i0 * 4096 + i1, ((v2 * 0.5) + v2), mask=in_m & in_n)


def launch(matmul_weight, matmul_bias, x, out, BLOCK_M=64, BLOCK_N=128, BLOCK_K=32, GROUP_M=16, STAGES=3, WARPS=4):
    d0 = x.shape[0]
    x_a = scratch((3, d0, 4096,), "bfloat16")
    matmul_weight_b = scratch((3, 4096, 4096,), "bfloat16")
    step0[(triton.cdiv((4096 * d0), 1024),)](x, x_a, d0=d0, BLOCK=1024, num_warps=4)
    step1[(triton.cdiv(16777216, 1024),)](matmul_weight, matmul_weight_b, BLOCK=1024, num_warps=4)
    step2[(triton.cdiv(d0, BLOCK_M) * triton.cdiv(4096, BLOCK_N),)](x_a, matmul_weight_b, matmul_bias, out, d0=d0, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
