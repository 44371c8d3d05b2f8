"""Model in 10 kernels (mul_13, mm, add_194, where_1, bmm_1, add_261, mul_340, mm_2, mul_379, add_327), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
Factors are laid out for them first, and float32 numbers split into three bfloat16 parts.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK_M": [64, 128, 256, 32, 16], "BLOCK_N": [128, 64, 256, 32, 16], "BLOCK_K": [32], "GROUP_M": [16, 4, 8, 1], "PRECISION": ["bf16x6", "tf32x3", "ieee"], "STAGES": [3, 2, 4], "GROUPS": [2, 1, 4, 8], "BLOCK": [1024, 2048, 512, 4096, 256], "WARPS": [4, 8]}


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
def step0(x, norms_0_weight, mul_13, d0: tl.constexpr, d1: tl.constexpr, BLOCK: tl.constexpr, DEEP: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 2048 * d0 * d1 > 2000000000 else tl.int32
    row = tl.program_id(0).to(INDEX)
    i1 = row
    acc2 = tl.full([BLOCK], 0.0, tl.float32)
    for first in range(0, 2048, DEEP * BLOCK):
        at = first + tl.arange(0, DEEP)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
        mask = at < 2048
        i2 = at
        v3 = tl.load(x + i1 * 2048 + i2, mask=mask, other=0).to(tl.float32)
        acc2 = acc2 + tl.sum(tl.where(mask, (v3 * v3), 0.0), axis=0)
    v4 = tl.sum(acc2, axis=0)
    v5 = tl.rsqrt(((v4 / 2048.0) + 1e-06))
    for first in range(0, 2048, BLOCK):
        at = first + tl.arange(0, BLOCK)
        mask = at < 2048
        i2 = at
        v1 = tl.load(x + i1 * 2048 + i2, mask=mask, other=0).to(tl.float32)
        v6 = tl.load(norms_0_weight + i2, mask=mask, other=0).to(tl.float32)
        tl.store(mul_13 + i1 * 2048 + i2, ((v1 * v5) * v6), mask=mask)


@triton.jit
def step1(mul_13, mul_13_a, d0: tl.constexpr, d1: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 2048 * d0 * d1 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < (2048 * d0 * d1)
    i2 = at
    to = mul_13_a + i2
    v1 = tl.load(mul_13 + i2, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * d1 * 2048, middle, mask=mask)
    tl.store(to + 2 * d0 * d1 * 2048, low, mask=mask)


@triton.jit
def step2(qkv_weight, qkv_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 12582912
    i1 = at
    to = qkv_weight_b + i1
    v1 = tl.load(qkv_weight + i1, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 6144 * 2048, middle, mask=mask)
    tl.store(to + 2 * 6144 * 2048, low, mask=mask)


@triton.jit
def step3(mul_13_a, qkv_weight_b, mm, d0: tl.constexpr, d1: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 6144 * d0 * d1 > 2000000000 else tl.int32
    tiles_m = tl.cdiv((d0 * d1), BLOCK_M)
    tiles_n = tl.cdiv(6144, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    i0i = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = i0i < (d0 * d1)
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < 6144
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 2048, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < 2048
        r0b = at_k[:, None]
        in_b = r0b < 2048
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = mul_13_a + i0i * 2048 + r0
        left_in = in_m & in_a
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * d1 * 2048, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * d1 * 2048, mask=left_in, other=0)
        right = qkv_weight_b + i1 * 2048 + r0b
        right_in = in_n & in_b
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 6144 * 2048, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 6144 * 2048, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    tl.store(mm + i0i * 6144 + i1, total, mask=in_m & in_n)


@triton.jit
def step4(mm, cos_, sin_, add_194, d0: tl.constexpr, d1: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, PRECISION: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 16 * d0 * d1 * d1 > 2000000000 or 6144 * d0 * d1 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d1, BLOCK_M)
    tiles_n = tl.cdiv(d1, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    at_batch = (tl.program_id(0) // (tiles_m * tiles_n)).to(INDEX)
    i1 = at_batch % 16
    at_batch_1 = at_batch // 16
    i0 = at_batch_1
    i2 = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = i2 < d1
    i3 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i3 < d1
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 128, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < 128
        r0b = at_k[:, None]
        in_b = r0b < 128
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        v1 = tl.load(mm + i0 * (6144 * d1) + i2 * 6144 + i1 * 128 + r0, mask=in_m & in_a, other=0).to(tl.float32)
        v2 = tl.load(cos_ + i2 * 128 + r0, mask=in_m & in_a, other=0).to(tl.float32)
        at3 = r0
        inside4 = (at3 >= 0) & (at3 < 64)
        v5 = tl.load(mm + i0 * (6144 * d1) + i2 * 6144 + i1 * 128 + r0 + 64, mask=in_m & in_a & inside4, other=0).to(tl.float32)
        at6 = r0 - 64
        inside7 = (at6 >= 0) & (at6 < 64)
        v8 = tl.load(mm + i0 * (6144 * d1) + ((i2 + ((i1 * 128 + r0 - 64) // 6144)) // d1) * (6144 * d1) + ((i2 + ((i1 * 128 + r0 - 64) // 6144)) % d1) * 6144 + ((((i1 * 128 + r0 - 64) % 6144)) // 6144) * 6144 + ((((i1 * 128 + r0 - 64) % 6144)) % 6144), mask=in_m & in_a & inside7, other=0).to(tl.float32)
        v9 = tl.where(inside7, v8, 0.0)
        v10 = tl.where(inside4, (-v5), v9)
        v11 = tl.load(sin_ + i2 * 128 + r0, mask=in_m & in_a, other=0).to(tl.float32)
        left = tl.where(in_a, ((v1 * v2) + (v10 * v11)), 0.0)
        v12 = tl.load(mm + i0 * (6144 * d1) + i3 * 6144 + i1 * 128 + r0b + 2048, mask=in_n & in_b, other=0).to(tl.float32)
        v13 = tl.load(cos_ + i3 * 128 + r0b, mask=in_n & in_b, other=0).to(tl.float32)
        at14 = r0b
        inside15 = (at14 >= 0) & (at14 < 64)
        v16 = tl.load(mm + i0 * (6144 * d1) + i3 * 6144 + i1 * 128 + r0b + 2112, mask=in_n & in_b & inside15, other=0).to(tl.float32)
        at17 = r0b - 64
        inside18 = (at17 >= 0) & (at17 < 64)
        v19 = tl.load(mm + i0 * (6144 * d1) + i3 * 6144 + i1 * 128 + r0b + 1984, mask=in_n & in_b & inside18, other=0).to(tl.float32)
        v20 = tl.where(inside18, v19, 0.0)
        v21 = tl.where(inside15, (-v16), v20)
        v22 = tl.load(sin_ + i3 * 128 + r0b, mask=in_n & in_b, other=0).to(tl.float32)
        right = tl.where(in_b, ((v12 * v13) + (v21 * v22)), 0.0)
        fresh = dot(left, right, fresh, PRECISION)
        total += fresh
    v23 = (i3)
    v24 = (i2)
    tl.store(add_194 + i0 * (16 * d1 * d1) + i1 * (d1 * d1) + i2 * d1 + i3, (((total * 0.29730177875068026) * 0.29730177875068026) + tl.where(((v23 - v24) <= 0), 0.0, float("-inf"))), mask=in_m & in_n)


@triton.jit
def step5(add_194, where_1, d0: tl.constexpr, d1: tl.constexpr, BLOCK: tl.constexpr, DEEP: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 16 * d0 * d1 * d1 > 2000000000 else tl.int32
    row = tl.program_id(0).to(INDEX)
    i2 = row
    acc1 = tl.full([BLOCK], -9223372036854775808, tl.int64)
    for first in range(0, d1, DEEP * BLOCK):
        at = first + tl.arange(0, DEEP)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
        mask = at < d1
        i3 = at
        v2 = tl.load(add_194 + i2 * d1 + i3, mask=mask, other=0).to(tl.float32)
        acc1 = tl.maximum(acc1, tl.max(tl.where(mask, tl.cast(((v2 == float("-inf")) == 0), tl.int64), -9223372036854775808), axis=0))
    v3 = tl.max(acc1, axis=0)
    v4 = ((v3 != 0) == 0)
    acc6 = tl.full([BLOCK], float("-inf"), tl.float32)
    acc7 = tl.full([BLOCK], 0.0, tl.float32)
    for first in range(0, d1, DEEP * BLOCK):
        at = first + tl.arange(0, DEEP)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
        mask = at < d1
        i3 = at
        v9 = tl.load(add_194 + i2 * d1 + i3, mask=mask, other=float("-inf")).to(tl.float32)
        v8 = v9
        v11 = tl.maximum(acc6, tl.max(v8, axis=0))
        near10 = tl.where(v11 == float("-inf"), 0.0, v11)
        acc7 = acc7 * tl.exp(acc6 - near10) + tl.sum(tl.exp(v8 - near10[None, :]), axis=0)
        acc6 = v11
    v12 = tl.max(acc6, axis=0)
    v13 = tl.sum(tl.where(acc6 == float("-inf"), 0.0, acc7 * tl.exp(acc6 - v12)), axis=0)
    for first in range(0, d1, BLOCK):
        at = first + tl.arange(0, BLOCK)
        mask = at < d1
        i3 = at
        v5 = tl.load(add_194 + i2 * d1 + i3, mask=mask, other=0).to(tl.float32)
        v14 = tl.exp((v5 - v12))
        tl.store(where_1 + i2 * d1 + i3, tl.where(v4, 0.0, (v14 / v13)), mask=mask)


@triton.jit
def step6(where_1, where_1_a, d0: tl.constexpr, d1: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 16 * d0 * d1 * d1 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < (16 * d0 * d1 * d1)
    i3 = at
    to = where_1_a + i3
    v1 = tl.load(where_1 + i3, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * 16 * d1 * d1, middle, mask=mask)
    tl.store(to + 2 * d0 * 16 * d1 * d1, low, mask=mask)


@triton.jit
def step7(mm, mm_b, d0: tl.constexpr, d1: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 6144 * d0 * d1 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < (6144 * d0 * d1)
    i1 = at
    to = mm_b + i1
    v1 = tl.load(mm + i1, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + (d0 * d1) * 6144, middle, mask=mask)
    tl.store(to + 2 * (d0 * d1) * 6144, low, mask=mask)


@triton.jit
def step8(where_1_a, mm_b, bmm_1, d0: tl.constexpr, d1: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 18432 * d0 * d1 > 2000000000 or 48 * d0 * d1 * d1 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d1, BLOCK_M)
    tiles_n = tl.cdiv(128, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    at_batch = (tl.program_id(0) // (tiles_m * tiles_n)).to(INDEX)
    i0i = at_batch % 16
    at_batch_1 = at_batch // 16
    i0o = at_batch_1
    i1 = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = i1 < d1
    i2 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i2 < 128
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, d1, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < d1
        r0b = at_k[:, None]
        in_b = r0b < d1
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = where_1_a + i0o * (16 * d1 * d1) + i0i * (d1 * d1) + i1 * d1 + r0
        left_in = in_m & in_a
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * 16 * d1 * d1, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * 16 * d1 * d1, mask=left_in, other=0)
        right = mm_b + i0o * (6144 * d1) + r0b * 6144 + i0i * 128 + i2 + 4096
        right_in = in_n & in_b
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + (d0 * d1) * 6144, mask=right_in, other=0)
        right2 = tl.load(right + 2 * (d0 * d1) * 6144, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    tl.store(bmm_1 + i0o * (2048 * d1) + i0i * (128 * d1) + i1 * 128 + i2, total, mask=in_m & in_n)


@triton.jit
def step9(bmm_1, bmm_1_a, d0: tl.constexpr, d1: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 2048 * d0 * d1 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < (2048 * d0 * d1)
    i2 = at
    to = bmm_1_a + i2
    v1 = tl.load(bmm_1 + i2, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + (16 * d0) * d1 * 128, middle, mask=mask)
    tl.store(to + 2 * (16 * d0) * d1 * 128, low, mask=mask)


@triton.jit
def step10(out_weight, out_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 4194304
    i1 = at
    to = out_weight_b + i1
    v1 = tl.load(out_weight + i1, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 2048 * 2048, middle, mask=mask)
    tl.store(to + 2 * 2048 * 2048, low, mask=mask)


@triton.jit
def step11(x, bmm_1_a, out_weight_b, add_261, d0: tl.constexpr, d1: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 6144 * d0 * d1 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d0 * d1, BLOCK_M)
    tiles_n = tl.cdiv(2048, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    at_m = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = at_m < d0 * d1
    i1 = at_m % d1
    at_m_1 = at_m // d1
    i0 = at_m_1
    i2 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i2 < 2048
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    pieces = tl.cdiv(128, BLOCK_K)
    for step in range(16 * pieces):
        at_window = tl.cast(step // pieces, INDEX)
        at_k = (step % pieces * BLOCK_K + tl.arange(0, BLOCK_K)).to(INDEX)
        r0o = at_window
        r0ob = r0o
        r0i = at_k[None, :]
        in_a = r0i < 128
        r0ib = at_k[:, None]
        in_b = r0ib < 128
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = bmm_1_a + i0 * (2048 * d1) + r0o * (128 * d1) + i1 * 128 + r0i
        left_in = in_m & in_a
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + (16 * d0) * d1 * 128, mask=left_in, other=0)
        left2 = tl.load(left + 2 * (16 * d0) * d1 * 128, mask=left_in, other=0)
        right = out_weight_b + i2 * 2048 + r0ob * 128 + r0ib
        right_in = in_n & in_b
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 2048 * 2048, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 2048 * 2048, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    v1 = tl.load(x + i0 * (2048 * d1) + i1 * 2048 + i2, mask=in_m & in_n, other=0).to(tl.float32)
    tl.store(add_261 + i0 * (2048 * d1) + i1 * 2048 + i2, (v1 + total), mask=in_m & in_n)


@triton.jit
def step12(add_261, norms_1_weight, mul_340, d0: tl.constexpr, d1: tl.constexpr, BLOCK: tl.constexpr, DEEP: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 2048 * d0 * d1 > 2000000000 else tl.int32
    row = tl.program_id(0).to(INDEX)
    i1 = row
    acc2 = tl.full([BLOCK], 0.0, tl.float32)
    for first in range(0, 2048, DEEP * BLOCK):
        at = first + tl.arange(0, DEEP)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
        mask = at < 2048
        i2 = at
        v3 = tl.load(add_261 + i1 * 2048 + i2, mask=mask, other=0).to(tl.float32)
        acc2 = acc2 + tl.sum(tl.where(mask, (v3 * v3), 0.0), axis=0)
    v4 = tl.sum(acc2, axis=0)
    v5 = tl.rsqrt(((v4 / 2048.0) + 1e-06))
    for first in range(0, 2048, BLOCK):
        at = first + tl.arange(0, BLOCK)
        mask = at < 2048
        i2 = at
        v1 = tl.load(add_261 + i1 * 2048 + i2, mask=mask, other=0).to(tl.float32)
        v6 = tl.load(norms_1_weight + i2, mask=mask, other=0).to(tl.float32)
        tl.store(mul_340 + i1 * 2048 + i2, ((v1 * v5) * v6), mask=mask)


@triton.jit
def step13(mul_340, mul_340_a, d0: tl.constexpr, d1: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 2048 * d0 * d1 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < (2048 * d0 * d1)
    i2 = at
    to = mul_340_a + i2
    v1 = tl.load(mul_340 + i2, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * d1 * 2048, middle, mask=mask)
    tl.store(to + 2 * d0 * d1 * 2048, low, mask=mask)


@triton.jit
def step14(up_weight, up_weight_b, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 22368256
    i1 = at
    to = up_weight_b + i1
    v1 = tl.load(up_weight + i1, mask=mask, other=0).to(tl.float32)
    high, middle, low = parts(v1)
    tl.store(to, high, mask=mask)
    tl.store(to + 10922 * 2048, middle, mask=mask)
    tl.store(to + 2 * 10922 * 2048, low, mask=mask)


@triton.jit
def step15(mul_340_a, up_weight_b, mm_2, d0: tl.constexpr, d1: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 10922 * d0 * d1 > 2000000000 else tl.int32
    tiles_m = tl.cdiv((d0 * d1), BLOCK_M)
    tiles_n = tl.cdiv(10922, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    i0i = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = i0i < (d0 * d1)
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < 10922
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 2048, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < 2048
        r0b = at_k[:, None]
        in_b = r0b < 2048
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = mul_340_a + i0i * 2048 + r0
        left_in = in_m & in_a
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * d1 * 2048, mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * d1 * 2048, mask=left_in, other=0)
        right = up_weight_b + i1 * 2048 + r0b
        right_in = in_n & in_b
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 10922 * 2048, mask=right_in, other=0)
        right2 = tl.load(right + 2 * 10922 * 2048, mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    tl.store(mm_2 + i0i * 10922 + i1, total, mask=in_m & in_n)


@triton.jit
def step16(mm_2, mul_379, d0: tl.constexpr, d1: tl.constexpr, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 10922 * d0 * d1 > 2000000000 else tl.int32
    blocks = tl.cdiv(5461, BLOCK)
    first = tl.program_id(0).to(INDEX) // blocks * GROUPS
    at = tl.program_id(0).to(INDEX) % blocks * BLOCK + tl.arange(0, BLOCK)
    mask = at < 5461
    i2 = at
    made0 = ()
    for nth in tl.static_range(GROUPS):
        row = first + nth
        there = row < (d0 * d1)
        i1 = row
        v1 = tl.load(mm_2 + i1 * 10922 + i2, mask=mask & there, other=0).to(tl.float32)
        v2 = tl.load(mm_2 + i1 * 10922 + i2 + 5461, mask=mask & there, other=0).to(tl.float32)
        made0 = made0 + (((v1 * (1.0 / (1.0 + tl.exp((-v1))))) * v2),)
    for nth in tl.static_range(GROUPS):
        row = first + nth
        there = row < (d0 * d1)
        i1 = row
        tl.store(mul_379 + i1 * 5461 + i2, made0[nth], mask=mask & there)


@triton.jit
def step17(mul_379, mul_379_a, d0: tl.constexpr, d1: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 16 * ((5461 + 15) // 16) * d0 * d1 > 2000000000 or 5461 * d0 * d1 > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < (d0 * d1) * (16 * ((5461 + 15) // 16))
    i2 = at % (16 * ((5461 + 15) // 16))
    at_1 = at // (16 * ((5461 + 15) // 16))
    i1 = at_1
    to = mul_379_a + i1 * (16 * ((5461 + 15) // 16)) + i2
    at1 = i2
    inside2 = (at1 >= 0) & (at1 < 5461)
    v3 = tl.load(mul_379 + i1 * 5461 + i2, mask=mask & inside2, other=0).to(tl.float32)
    v4 = tl.where(inside2, v3, 0.0)
    high, middle, low = parts(v4)
    tl.store(to, high, mask=mask)
    tl.store(to + d0 * d1 * (16 * ((5461 + 15) // 16)), middle, mask=mask)
    tl.store(to + 2 * d0 * d1 * (16 * ((5461 + 15) // 16)), low, mask=mask)


@triton.jit
def step18(down_weight, down_weight_b, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 32768 * ((5461 + 15) // 16) > 2000000000 else tl.int32
    at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK)
    mask = at < 2048 * (16 * ((5461 + 15) // 16))
    i1 = at % (16 * ((5461 + 15) // 16))
    at_1 = at // (16 * ((5461 + 15) // 16))
    i0 = at_1
    to = down_weight_b + i0 * (16 * ((5461 + 15) // 16)) + i1
    at1 = i1
    inside2 = (at1 >= 0) & (at1 < 5461)
    v3 = tl.load(down_weight + i0 * 5461 + i1, mask=mask & inside2, other=0).to(tl.float32)
    v4 = tl.where(inside2, v3, 0.0)
    high, middle, low = parts(v4)
    tl.store(to, high, mask=mask)
    tl.store(to + 2048 * (16 * ((5461 + 15) // 16)), middle, mask=mask)
    tl.store(to + 2 * 2048 * (16 * ((5461 + 15) // 16)), low, mask=mask)


@triton.jit
def step19(add_261, mul_379_a, down_weight_b, out, d0: tl.constexpr, d1: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 2048 * d0 * d1 > 2000000000 or 48 * ((5461 + 15) // 16) * d0 * d1 > 2000000000 or 98304 * ((5461 + 15) // 16) > 2000000000 else tl.int32
    tiles_m = tl.cdiv((d0 * d1), BLOCK_M)
    tiles_n = tl.cdiv(2048, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    i1 = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = i1 < (d0 * d1)
    i2 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i2 < 2048
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 5461, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < 5461
        r0b = at_k[:, None]
        in_b = r0b < 5461
        fresh = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        left = mul_379_a + i1 * (16 * ((5461 + 15) // 16)) + r0
        left_in = in_m & (r0 < 16 * ((5461 + 15) // 16))
        left0 = tl.load(left, mask=left_in, other=0)
        left1 = tl.load(left + d0 * d1 * (16 * ((5461 + 15) // 16)), mask=left_in, other=0)
        left2 = tl.load(left + 2 * d0 * d1 * (16 * ((5461 + 15) // 16)), mask=left_in, other=0)
        right = down_weight_b + i2 * (16 * ((5461 + 15) // 16)) + r0b
        right_in = in_n & (r0b < 16 * ((5461 + 15) // 16))
        right0 = tl.load(right, mask=right_in, other=0)
        right1 = tl.load(right + 2048 * (16 * ((5461 + 15) // 16)), mask=right_in, other=0)
        right2 = tl.load(right + 2 * 2048 * (16 * ((5461 + 15) // 16)), mask=right_in, other=0)
        fresh = six(left0, left1, left2, right0, right1, right2, fresh)
        total += fresh
    v1 = tl.load(add_261 + i1 * 2048 + i2, mask=in_m & in_n, other=0).to(tl.float32)
    tl.store(out + i1 * 2048 + i2, (v1 + total), mask=in_m & in_n)


def launch(norms_0_weight, norms_1_weight, qkv_weight, out_weight, up_weight, down_weight, x, cos_, sin_, out, BLOCK_M=64, BLOCK_N=128, BLOCK_K=32, GROUP_M=16, PRECISION="bf16x6", STAGES=3, GROUPS=2, BLOCK=1024, WARPS=4):
    d0 = x.shape[0]
    d1 = x.shape[1]
    mul_13 = scratch((d0, d1, 2048,), "float32")
    mm = scratch((d0 * d1, 6144,), "float32")
    add_194 = scratch((d0, 16, d1, d1,), "float32")
    where_1 = scratch((d0, 16, d1, d1,), "float32")
    bmm_1 = scratch((16 * d0, d1, 128,), "float32")
    add_261 = scratch((d0, d1, 2048,), "float32")
    mul_340 = scratch((d0, d1, 2048,), "float32")
    mm_2 = scratch((d0 * d1, 10922,), "float32")
    mul_379 = scratch((d0, d1, 5461,), "float32")
    mul_13_a = scratch((3, d0, d1, 2048,), "bfloat16")
    qkv_weight_b = scratch((3, 6144, 2048,), "bfloat16")
    where_1_a = scratch((3, d0, 16, d1, d1,), "bfloat16")
    mm_b = scratch((3, d0 * d1, 6144,), "bfloat16")
    bmm_1_a = scratch((3, 16 * d0, d1, 128,), "bfloat16")
    out_weight_b = scratch((3, 2048, 2048,), "bfloat16")
    mul_340_a = scratch((3, d0, d1, 2048,), "bfloat16")
    up_weight_b = scratch((3, 10922, 2048,), "bfloat16")
    mul_379_a = scratch((3, d0, d1, 16 * ((5461 + 15) // 16),), "bfloat16")
    down_weight_b = scratch((3, 2048, 16 * ((5461 + 15) // 16),), "bfloat16")
    DEEP = next((n for n in (8, 4, 2) if n * BLOCK <= min(2048, 2048 * 4)), 1)
    step0[((d0 * d1),)](x, norms_0_weight, mul_13, d0=d0, d1=d1, DEEP=DEEP, BLOCK=BLOCK, num_warps=4)
    step1[(triton.cdiv((2048 * d0 * d1), 1024),)](mul_13, mul_13_a, d0=d0, d1=d1, BLOCK=1024, num_warps=4)
    step2[(triton.cdiv(12582912, 1024),)](qkv_weight, qkv_weight_b, BLOCK=1024, num_warps=4)
    step3[(triton.cdiv((d0 * d1), BLOCK_M) * triton.cdiv(6144, BLOCK_N),)](mul_13_a, qkv_weight_b, mm, d0=d0, d1=d1, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    step4[(d0 * 16 * triton.cdiv(d1, BLOCK_M) * triton.cdiv(d1, BLOCK_N),)](mm, cos_, sin_, add_194, d0=d0, d1=d1, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, PRECISION=PRECISION, num_warps=WARPS, num_stages=STAGES)
    DEEP = next((n for n in (8, 4, 2) if n * BLOCK <= min(d1, 2048 * 4)), 1)
    step5[((16 * d0 * d1),)](add_194, where_1, d0=d0, d1=d1, DEEP=DEEP, BLOCK=BLOCK, num_warps=4)
    step6[(triton.cdiv((16 * d0 * d1 * d1), 1024),)](where_1, where_1_a, d0=d0, d1=d1, BLOCK=1024, num_warps=4)
    step7[(triton.cdiv((6144 * d0 * d1), 1024),)](mm, mm_b, d0=d0, d1=d1, BLOCK=1024, num_warps=4)
    step8[(d0 * 16 * triton.cdiv(d1, BLOCK_M) * triton.cdiv(128, BLOCK_N),)](where_1_a, mm_b, bmm_1, d0=d0, d1=d1, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    step9[(triton.cdiv((2048 * d0 * d1), 1024),)](bmm_1, bmm_1_a, d0=d0, d1=d1, BLOCK=1024, num_warps=4)
    step10[(triton.cdiv(4194304, 1024),)](out_weight, out_weight_b, BLOCK=1024, num_warps=4)
    step11[(triton.cdiv(d0 * d1, BLOCK_M) * triton.cdiv(2048, BLOCK_N),)](x, bmm_1_a, out_weight_b, add_261, d0=d0, d1=d1, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    DEEP = next((n for n in (8, 4, 2) if n * BLOCK <= min(2048, 2048 * 4)), 1)
    step12[((d0 * d1),)](add_261, norms_1_weight, mul_340, d0=d0, d1=d1, DEEP=DEEP, BLOCK=BLOCK, num_warps=4)
    step13[(triton.cdiv((2048 * d0 * d1), 1024),)](mul_340, mul_340_a, d0=d0, d1=d1, BLOCK=1024, num_warps=4)
    step14[(triton.cdiv(22368256, 1024),)](up_weight, up_weight_b, BLOCK=1024, num_warps=4)
    step15[(triton.cdiv((d0 * d1), BLOCK_M) * triton.cdiv(10922, BLOCK_N),)](mul_340_a, up_weight_b, mm_2, d0=d0, d1=d1, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    if GROUPS * BLOCK > 2048 * 4:
        raise ValueError("a thread would hold more than 64 elements")
    step16[(triton.cdiv((d0 * d1), GROUPS) * triton.cdiv(5461, BLOCK),)](mm_2, mul_379, d0=d0, d1=d1, GROUPS=GROUPS, BLOCK=BLOCK, num_warps=4)
    step17[(triton.cdiv((d0 * d1) * (16 * ((5461 + 15) // 16)), 1024),)](mul_379, mul_379_a, d0=d0, d1=d1, BLOCK=1024, num_warps=4)
    step18[(triton.cdiv(2048 * (16 * ((5461 + 15) // 16)), 1024),)](down_weight, down_weight_b, BLOCK=1024, num_warps=4)
    step19[(triton.cdiv((d0 * d1), BLOCK_M) * triton.cdiv(2048, BLOCK_N),)](add_261, mul_379_a, down_weight_b, out, d0=d0, d1=d1, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
