"""Model in 1 kernel (bmm), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK_M": [128, 64, 32, 16], "BLOCK_N": [128, 64, 32, 16], "BLOCK_K": [32, 64, 16], "GROUP_M": [8, 16, 4, 1], "PRECISION": ["bf16x6", "tf32x3", "ieee"], "STAGES": [3, 2, 4], "WARPS": [8, 4]}


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
def step0(a, b, out, d0: tl.constexpr, d1: tl.constexpr, d2: tl.constexpr, d3: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, PRECISION: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if d0 * d1 * d2 > 2000000000 or d0 * d1 * d3 > 2000000000 or d0 * d2 * d3 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d1, BLOCK_M)
    tiles_n = tl.cdiv(d3, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    at_batch = (tl.program_id(0) // (tiles_m * tiles_n)).to(INDEX)
    i0 = at_batch
    i1 = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = i1 < d1
    i2 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i2 < d3
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, d2, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < d2
        r0b = at_k[:, None]
        in_b = r0b < d2
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = tl.load(a + i0 * (d1 * d2) + i1 * d2 + r0, mask=in_m & in_a, other=0)
        right = tl.load(b + i0 * (d2 * d3) + r0b * d3 + i2, mask=in_n & in_b, other=0)
        fresh = dot(left, right, fresh, PRECISION)
        total += fresh
    tl.store(out + i0 * (d1 * d3) + i1 * d3 + i2, total, mask=in_m & in_n)


def launch(a, b, out, BLOCK_M=128, BLOCK_N=128, BLOCK_K=32, GROUP_M=8, PRECISION="bf16x6", STAGES=3, WARPS=8):
    d0 = a.shape[0]
    d1 = a.shape[1]
    d2 = a.shape[2]
    d3 = b.shape[2]
    step0[(d0 * triton.cdiv(d1, BLOCK_M) * triton.cdiv(d3, BLOCK_N),)](a, b, out, d0=d0, d1=d1, d2=d2, d3=d3, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, PRECISION=PRECISION, num_warps=WARPS, num_stages=STAGES)
