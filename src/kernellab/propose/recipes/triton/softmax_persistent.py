"""Row softmax by a fixed number of programs that walk over tiles of rows and fetch the next tile ahead.

Hypothesis: a program that always has the next tile on its way keeps the memory busy through its own reductions and
exponentials, and saves the start and drain of tens of thousands of programs. "registers" holds the next tile in
registers, "async" lets the compiler pipeline the loop through shared memory. WITHIN "warp" keeps each row inside one
warp, so that warps need no barrier. Refuted if as many short-lived programs, which overlap each other's phases without
any of this, are as fast.
"""

import math

import triton
import triton.language as tl

TASKS = ("softmax", "softmax_bf16", "softmax_f16")
SPACE = {
    "PROGRAMS": [1056, 528, 2112, 264],
    "ROWS": [4, 1, 2, 8],
    "WARPS": [4, 1, 8],
    "WITHIN": ["warp", "program"],
    "AHEAD": ["registers", "async3", "async4"],
    "STORE": ["plain", "stream"],
}
LOG2E = tl.constexpr(1.4426950408889634)
MOST = 32  # elements a thread and tile: two tiles are in registers


@triton.jit
def read_tile(x, t, M, N: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Tile t; what lies past the last row is that row again."""
    first = tl.minimum(t * ROWS, M - 1)
    here = tl.minimum(tl.arange(0, ROWS)[:, None, None], M - 1 - first)
    at = tl.arange(0, K)[None, :, None] * WIDTH + tl.arange(0, WIDTH)[None, None, :]
    place = x + first.to(tl.int64) * N + (here * N + at)
    if N == K * WIDTH:
        raw = tl.load(place)
    else:
        raw = tl.load(place, mask=at < N, other=float("-inf"))
    return raw


@triton.jit
def write_tile(
    raw, y, t, M, N: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, FUSED: tl.constexpr,
    STORE: tl.constexpr,
):  # fmt: skip
    v = raw.to(tl.float32)
    top = tl.max(tl.max(v, axis=1), axis=1)[:, None, None]
    if FUSED:
        e = tl.exp2(v * LOG2E - top * LOG2E)
    else:
        e = tl.exp2((v - top) * LOG2E)
    scale = 1.0 / tl.sum(tl.sum(e, axis=1), axis=1)[:, None, None]
    out = (e * scale).to(y.dtype.element_ty)
    first = t * ROWS
    row = tl.arange(0, ROWS)[:, None, None]
    at = tl.arange(0, K)[None, :, None] * WIDTH + tl.arange(0, WIDTH)[None, None, :]
    place = y + first.to(tl.int64) * N + (row * N + at)
    tl.store(place, out, mask=(row < M - first) & (at < N), cache_modifier=STORE)


@triton.jit
def softmax_persistent(
    x, y, M, tiles, programs, N: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
    FUSED: tl.constexpr, STAGES: tl.constexpr, STORE: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    if STAGES == 1:
        ahead = read_tile(x, pid, M, N, K, ROWS, WIDTH)
        for t in range(pid, tiles, programs):
            raw = ahead
            ahead = read_tile(x, t + programs, M, N, K, ROWS, WIDTH)
            write_tile(raw, y, t, M, N, K, ROWS, WIDTH, FUSED, STORE)
    else:
        for t in tl.range(pid, tiles, programs, num_stages=STAGES):
            raw = read_tile(x, t, M, N, K, ROWS, WIDTH)
            write_tile(raw, y, t, M, N, K, ROWS, WIDTH, FUSED, STORE)


def launch(x, y, PROGRAMS=1056, ROWS=4, WARPS=4, WITHIN="warp", AHEAD="registers", STORE="plain"):
    if WITHIN == "warp" and ROWS < WARPS:
        raise ValueError("fewer rows than warps: some would have none")
    m, n = x.shape
    block = triton.next_power_of_2(n)
    if block > 32 * 32 * MOST:
        raise ValueError("two rows this long do not fit the registers of one program")
    rows = max(1, min(ROWS, 32 * WARPS * MOST // block))
    wide = math.gcd(n, 16 // x.itemsize)  # elements of one access of one lane
    width = min(block, 32 * wide) if WITHIN == "warp" and rows >= WARPS else block
    stages = 1 if AHEAD == "registers" else min(int(AHEAD[5:]), 200 * 1024 // (rows * block * x.itemsize))
    tiles = triton.cdiv(m, rows)
    programs = min(PROGRAMS, tiles)
    softmax_persistent[(programs,)](
        x, y, m, tiles, programs, N=n, K=block // width, ROWS=rows, WIDTH=width, FUSED=x.dtype != "float32",
        STAGES=stages, STORE=".cs" if STORE == "stream" else "", num_warps=max(WARPS, block // (32 * MOST)),
    )  # fmt: skip
