"""Row softmax, a tile of several whole rows a program.

Hypothesis: rows of 2048 elements and fewer give a program of one row too few bytes in flight and leave its latency
chain (load, maximum, exponentials, sum, store) bare; a tile of rows fills it. With WITHIN "warp" every row lies inside
one warp (the tile is [rows, vectors, lanes], a vector axis as wide as one warp), so both reductions are
shuffles without a barrier; with "program" the warps share each row. Refuted if one row a program is as fast at a row
length of 512.
"""

import math

import triton
import triton.language as tl

TASKS = ("softmax", "softmax_bf16", "softmax_f16")
SPACE = {
    "ROWS": [4, 8, 2, 16, 1],
    "WARPS": [4, 1, 2, 8],
    "WITHIN": ["warp", "program"],
    "LOAD": ["plain", "first"],
    "STORE": ["plain", "stream"],
}
LOG2E = tl.constexpr(1.4426950408889634)
MOST = 64  # elements a thread


@triton.jit
def softmax_rows(
    x, y, M, N: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, FUSED: tl.constexpr,
    LOAD: tl.constexpr, STORE: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0) * ROWS
    start = first.to(tl.int64) * N
    row = tl.arange(0, ROWS)[:, None, None]
    at = tl.arange(0, K)[None, :, None] * WIDTH + tl.arange(0, WIDTH)[None, None, :]
    here = tl.minimum(row, M - 1 - first)  # rows past the end read the last one again, so loads need no mask for them
    if N == K * WIDTH:
        v = tl.load(x + start + (here * N + at), eviction_policy=LOAD).to(tl.float32)
    else:
        v = tl.load(x + start + (here * N + at), mask=at < N, other=float("-inf"), eviction_policy=LOAD).to(tl.float32)
    top = tl.max(tl.max(v, axis=1), axis=1)[:, None, None]
    if FUSED:  # one multiply-add; its shift is off by the rounding of top * LOG2E, the same for the whole row
        e = tl.exp2(v * LOG2E - top * LOG2E)
    else:
        e = tl.exp2((v - top) * LOG2E)
    scale = 1.0 / tl.sum(tl.sum(e, axis=1), axis=1)[:, None, None]
    out = (e * scale).to(y.dtype.element_ty)
    tl.store(y + start + (row * N + at), out, mask=(row < M - first) & (at < N), cache_modifier=STORE)


def launch(x, y, ROWS=4, WARPS=4, WITHIN="warp", LOAD="plain", STORE="plain"):
    if WITHIN == "warp" and ROWS < WARPS:
        raise ValueError("fewer rows than warps: some would have none")
    m, n = x.shape
    block = triton.next_power_of_2(n)
    if block > 32 * 32 * MOST:
        raise ValueError("a row this long does not fit the registers of one program")
    rows = max(1, min(ROWS, 32 * WARPS * MOST // block))  # long rows: fewer, then more warps
    wide = math.gcd(n, 16 // x.itemsize)  # elements of one access of one lane
    width = min(block, 32 * wide) if WITHIN == "warp" and rows >= WARPS else block
    softmax_rows[(triton.cdiv(m, rows),)](
        x, y, m, N=n, K=block // width, ROWS=rows, WIDTH=width, FUSED=x.dtype != "float32",
        LOAD="evict_first" if LOAD == "first" else "", STORE=".cs" if STORE == "stream" else "",
        num_warps=max(WARPS, block // (32 * MOST)),
    )  # fmt: skip
