"""Model in 6 kernels (native_layer_norm, gelu, add_55, native_layer_norm_1, gelu_1, add_96), generated from its graph.

Hypothesis: tensor cores make blocks of the products; what comes behind a product is done before it is stored.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK_M": [128, 64, 256, 32, 16], "BLOCK_N": [128, 64, 256, 32, 16], "BLOCK_K": [64, 32, 128], "GROUP_M": [8, 16, 4, 1], "STAGES": [3, 2, 4], "WARPS": [8, 4]}


@triton.jit
def _one_and_erf(x):
    far = tl.abs(x)
    p = (1.7699392628856003e-05 * far - 0.0004448378167580813) * far + 0.004968198947608471
    p = ((p * far - 0.0331244133412838) * far + 0.15118151903152466) * far + 0.9180387854576111
    tail = tl.exp2(-((p * far + 1.6277785301208496) * far + 1.5370378605439328e-05))
    return tl.where(x < 0, tail, 2.0 - tail)


@triton.jit
def step0(x, norms_0_weight, norms_0_bias, native_layer_norm, d0: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 150528 * d0 > 2000000000 else tl.int32
    row = tl.program_id(0).to(INDEX)
    i1 = row
    at = tl.arange(0, BLOCK)
    mask = at < 768
    i2 = at
    v1 = tl.load(x + i1 * 768 + i2, mask=mask, other=0).to(tl.float32)
    v2 = tl.sum(tl.where(mask, v1, 0.0), axis=0)
    v3 = (v1 - (v2 / 768.0))
    v4 = tl.sum(tl.where(mask, (v3 * v3), 0.0), axis=0)
    v5 = tl.load(norms_0_weight + i2, mask=mask, other=0).to(tl.float32)
    v6 = tl.load(norms_0_bias + i2, mask=mask, other=0).to(tl.float32)
    tl.store(native_layer_norm + i1 * 768 + i2, (((v3 * tl.rsqrt(((v4 / 768.0) + 1e-05))) * v5) + v6), mask=mask)


@triton.jit
def step1(native_layer_norm, across_0_weight, across_0_bias, gelu, d0: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 294912 * d0 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d0 * 768, BLOCK_M)
    tiles_n = tl.cdiv(384, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    at_m = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = at_m < d0 * 768
    i1 = at_m % 768
    at_m_1 = at_m // 768
    i0 = at_m_1
    i2 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i2 < 384
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 196, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < 196
        r0b = at_k[:, None]
        in_b = r0b < 196
        left = tl.load(native_layer_norm + i0 * 150528 + r0 * 768 + i1, mask=in_m & in_a, other=0)
        right = tl.load(across_0_weight + i2 * 196 + r0b, mask=in_n & in_b, other=0)
        total = tl.dot(left, right, total)
    v1 = tl.load(across_0_bias + i2, mask=in_n, other=0).to(tl.float32)
    v2 = (total + v1)
    tl.store(gelu + i0 * 294912 + i1 * 384 + i2, ((0.5 * v2) * _one_and_erf((v2 * 0.7071067811865476))), mask=in_m & in_n)


@triton.jit
def step2(x, gelu, across_2_weight, across_2_bias, add_55, d0: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 294912 * d0 > 2000000000 else tl.int32
    tiles_m = tl.cdiv(d0 * 768, BLOCK_M)
    tiles_n = tl.cdiv(196, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    at_m = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = at_m < d0 * 768
    i2 = at_m % 768
    at_m_1 = at_m // 768
    i0 = at_m_1
    i1 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i1 < 196
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 384, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < 384
        r0b = at_k[:, None]
        in_b = r0b < 384
        left = tl.load(gelu + i0 * 294912 + i2 * 384 + r0, mask=in_m & in_a, other=0)
        right = tl.load(across_2_weight + i1 * 384 + r0b, mask=in_n & in_b, other=0)
        total = tl.dot(left, right, total)
    v1 = tl.load(x + i0 * 150528 + i1 * 768 + i2, mask=in_m & in_n, other=0).to(tl.float32)
    v2 = tl.load(across_2_bias + i1, mask=in_n, other=0).to(tl.float32)
    tl.store(add_55 + i0 * 150528 + i1 * 768 + i2, (v1 + (total + v2)), mask=in_m & in_n)


@triton.jit
def step3(add_55, norms_1_weight, norms_1_bias, native_layer_norm_1, d0: tl.constexpr, BLOCK: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 150528 * d0 > 2000000000 else tl.int32
    row = tl.program_id(0).to(INDEX)
    i1 = row
    at = tl.arange(0, BLOCK)
    mask = at < 768
    i2 = at
    v1 = tl.load(add_55 + i1 * 768 + i2, mask=mask, other=0).to(tl.float32)
    v2 = tl.sum(tl.where(mask, v1, 0.0), axis=0)
    v3 = (v1 - (v2 / 768.0))
    v4 = tl.sum(tl.where(mask, (v3 * v3), 0.0), axis=0)
    v5 = tl.load(norms_1_weight + i2, mask=mask, other=0).to(tl.float32)
    v6 = tl.load(norms_1_bias + i2, mask=mask, other=0).to(tl.float32)
    tl.store(native_layer_norm_1 + i1 * 768 + i2, (((v3 * tl.rsqrt(((v4 / 768.0) + 1e-05))) * v5) + v6), mask=mask)


@triton.jit
def step4(native_layer_norm_1, along_0_weight, along_0_bias, gelu_1, d0: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 602112 * d0 > 2000000000 else tl.int32
    tiles_m = tl.cdiv((196 * d0), BLOCK_M)
    tiles_n = tl.cdiv(3072, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    i1 = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = i1 < (196 * d0)
    i2 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i2 < 3072
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 768, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < 768
        r0b = at_k[:, None]
        in_b = r0b < 768
        left = tl.load(native_layer_norm_1 + i1 * 768 + r0, mask=in_m & in_a, other=0)
        right = tl.load(along_0_weight + i2 * 768 + r0b, mask=in_n & in_b, other=0)
        total = tl.dot(left, right, total)
    v1 = tl.load(along_0_bias + i2, mask=in_n, other=0).to(tl.float32)
    v2 = (total + v1)
    tl.store(gelu_1 + i1 * 3072 + i2, ((0.5 * v2) * _one_and_erf((v2 * 0.7071067811865476))), mask=in_m & in_n)


@triton.jit
def step5(add_55, gelu_1, along_2_weight, along_2_bias, out, d0: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if 602112 * d0 > 2000000000 else tl.int32
    tiles_m = tl.cdiv((196 * d0), BLOCK_M)
    tiles_n = tl.cdiv(768, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    group = GROUP_M * tiles_n
    first_m = tile // group * GROUP_M
    high = tl.minimum(tiles_m - first_m, GROUP_M)
    i1 = ((first_m + tile % group % high) * BLOCK_M + tl.arange(0, BLOCK_M)).to(INDEX)[:, None]
    in_m = i1 < (196 * d0)
    i2 = (tile % group // high * BLOCK_N + tl.arange(0, BLOCK_N)).to(INDEX)[None, :]
    in_n = i2 < 768
    total = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, 3072, BLOCK_K):
        at_k = (first + tl.arange(0, BLOCK_K)).to(INDEX)
        r0 = at_k[None, :]
        in_a = r0 < 3072
        r0b = at_k[:, None]
        in_b = r0b < 3072
        left = tl.load(gelu_1 + i1 * 3072 + r0, mask=in_m & in_a, other=0)
        right = tl.load(along_2_weight + i2 * 3072 + r0b, mask=in_n & in_b, other=0)
        total = tl.dot(left, right, total)
    v1 = tl.load(add_55 + i1 * 768 + i2, mask=in_m & in_n, other=0).to(tl.float32)
    v2 = tl.load(along_2_bias + i2, mask=in_n, other=0).to(tl.float32)
    tl.store(out + i1 * 768 + i2, (v1 + (total + v2)), mask=in_m & in_n)


def launch(norms_0_weight, norms_0_bias, norms_1_weight, norms_1_bias, across_0_weight, across_0_bias, across_2_weight, across_2_bias, along_0_weight, along_0_bias, along_2_weight, along_2_bias, x, out, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, GROUP_M=8, STAGES=3, WARPS=8):
    d0 = x.shape[0]
    native_layer_norm = scratch((d0, 196, 768,), "bfloat16")
    gelu = scratch((d0, 768, 384,), "bfloat16")
    add_55 = scratch((d0, 196, 768,), "bfloat16")
    native_layer_norm_1 = scratch((d0, 196, 768,), "bfloat16")
    gelu_1 = scratch((d0, 196, 3072,), "bfloat16")
    if 768 > 65536:
        raise ValueError("rows this long do not fit the registers of one program")
    step0[((196 * d0),)](x, norms_0_weight, norms_0_bias, native_layer_norm, d0=d0, BLOCK=triton.next_power_of_2(768), num_warps=4)
    step1[(triton.cdiv(d0 * 768, BLOCK_M) * triton.cdiv(384, BLOCK_N),)](native_layer_norm, across_0_weight, across_0_bias, gelu, d0=d0, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    step2[(triton.cdiv(d0 * 768, BLOCK_M) * triton.cdiv(196, BLOCK_N),)](x, gelu, across_2_weight, across_2_bias, add_55, d0=d0, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    if 768 > 65536:
        raise ValueError("rows this long do not fit the registers of one program")
    step3[((196 * d0),)](add_55, norms_1_weight, norms_1_bias, native_layer_norm_1, d0=d0, BLOCK=triton.next_power_of_2(768), num_warps=4)
    step4[(triton.cdiv((196 * d0), BLOCK_M) * triton.cdiv(3072, BLOCK_N),)](native_layer_norm_1, along_0_weight, along_0_bias, gelu_1, d0=d0, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
    step5[(triton.cdiv((196 * d0), BLOCK_M) * triton.cdiv(768, BLOCK_N),)](add_55, gelu_1, along_2_weight, along_2_bias, out, d0=d0, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=WARPS, num_stages=STAGES)
