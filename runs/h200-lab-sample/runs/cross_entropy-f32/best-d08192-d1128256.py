"""Model in 2 kernels (mul_8, div), generated from its graph.

Hypothesis: a program goes over a long row in pieces, once for each reduction that needs another's result.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK": [1024, 4096, 2048, 8192, 16384], "WARPS": [4, 8, 16, 1, 32]}


@triton.jit
def step0(logits, target, mul_8, d0: tl.constexpr, d1: tl.constexpr, BLOCK: tl.constexpr, DEEP: tl.constexpr):
    INDEX: tl.constexpr = tl.int64 if d0 * d1 > 2000000000 else tl.int32
    row = tl.program_id(0).to(INDEX)
    i0 = row
    acc1 = tl.full([BLOCK], float("-inf"), tl.float32)
    acc2 = tl.full([BLOCK], 0.0, tl.float32)
    for first in range(0, d1, DEEP * BLOCK):
        at = first + tl.arange(0, DEEP)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
        mask = at < d1
        r1 = at
        v4 = tl.load(logits + i0 * d1 + r1, mask=mask, other=float("-inf")).to(tl.float32)
        v3 = v4
        v6 = tl.maximum(acc1, tl.max(v3, axis=0))
        near5 = tl.where(v6 == float("-inf"), 0.0, v6)
        acc2 = acc2 * tl.exp(acc1 - near5) + tl.sum(tl.exp(v3 - near5[None, :]), axis=0)
        acc1 = v6
    v7 = tl.max(acc1, axis=0)
    v8 = tl.sum(tl.where(acc1 == float("-inf"), 0.0, acc2 * tl.exp(acc1 - v7)), axis=0)
    v9 = (tl.abs(v7) == float("inf"))
    v10 = tl.load(target + i0).to(tl.int64)
    v11 = tl.maximum(v10, 0)
    v12 = (d1)
    v13 = tl.load(logits + i0 * d1 + tl.where((v11 < 0), (v11 + v12), v11)).to(tl.float32)
    tl.store(mul_8 + i0, (((tl.log(tl.where(v9, tl.where((v7 > 0.0), float("inf"), 0.0), v8)) + tl.where(v9, 0.0, v7)) - v13) * ((v10 >= 0) * 1.0)))


@triton.jit
def step1(mul_8, target, out, d0: tl.constexpr, BLOCK: tl.constexpr, DEEP: tl.constexpr):
    acc1 = tl.full([BLOCK], 0.0, tl.float32)
    for first in range(0, d0, DEEP * BLOCK):
        at = first + tl.arange(0, DEEP)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
        mask = at < d0
        r0 = at
        v2 = tl.load(mul_8 + r0, mask=mask, other=0.0).to(tl.float32)
        acc1 = acc1 + tl.sum(v2, axis=0)
    v3 = tl.sum(acc1, axis=0)
    acc4 = tl.full([BLOCK], 0, tl.int64)
    for first in range(0, d0, DEEP * BLOCK):
        at = first + tl.arange(0, DEEP)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
        mask = at < d0
        r0 = at
        v5 = tl.load(target + r0, mask=mask, other=0).to(tl.int64)
        acc4 = acc4 + tl.sum(tl.where(mask, tl.cast((v5 >= 0), tl.int64), 0), axis=0)
    v6 = tl.sum(acc4, axis=0)
    tl.store(out + 0, (v3 / (tl.maximum(v6, 1) * 1.0)))


def launch(logits, target, out, BLOCK=1024, WARPS=4):
    d0 = logits.shape[0]
    d1 = logits.shape[1]
    mul_8 = scratch((d0,), "float32")
    if BLOCK > 2048 * WARPS:
        raise ValueError("a thread would hold more than 64 elements")
    DEEP = next((n for n in (8, 4, 2) if n * BLOCK <= min(d1, 2048 * WARPS)), 1)
    step0[(d0,)](logits, target, mul_8, d0=d0, d1=d1, DEEP=DEEP, BLOCK=BLOCK, num_warps=WARPS)
    DEEP = next((n for n in (8, 4, 2) if n * BLOCK <= min(d0, 2048 * WARPS)), 1)
    step1[(1,)](mul_8, target, out, d0=d0, DEEP=DEEP, BLOCK=BLOCK, num_warps=WARPS)
