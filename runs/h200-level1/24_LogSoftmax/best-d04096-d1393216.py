"""Model in 1 kernel (_log_softmax), generated from its graph.

Hypothesis: several programs share a row, each with a part of it in registers, so that a long one is read once too.
"""

import triton
import triton.language as tl

SPACE = {"BLOCK": [8192, 16384, 4096, 32768], "PROGRAMS": [528, 264, 396, 792, 132], "WARPS": [4, 8, 16, 32]}


@triton.jit
def _meet(ready, SHARES: tl.constexpr):
    tl.debug_barrier()
    here = tl.atomic_add(ready, 1, sem="acq_rel") + 1
    while here < SHARES:
        here = tl.atomic_add(ready, 0, sem="acquire")
    tl.debug_barrier()


@triton.jit
def step0(x, out, board, ready, d0: tl.constexpr, d1: tl.constexpr, SHARES: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    share = tl.program_id(0) % SHARES
    others = tl.arange(0, WIDTH)
    begin = (tl.program_id(0) // SHARES).to(tl.int64)
    for row in range(begin, d0, tl.num_programs(0) // SHARES):
        i0 = row
        at = share * BLOCK + tl.arange(0, BLOCK)
        mask = at < d1
        i1 = at
        v1 = tl.load(x + i0 * d1 + i1, mask=mask, other=0).to(tl.float32)
        v2 = tl.max(tl.where(mask, v1, float("-inf")), axis=0)
        near4 = tl.where(v2 == float("-inf"), 0.0, v2)
        v3 = tl.sum(tl.where(mask, tl.exp(v1 - near4), 0.0), axis=0)
        tl.store(board + (0 * d0 + row) * SHARES + share, v2)
        tl.store(board + (1 * d0 + row) * SHARES + share, v3)
        _meet(ready + 0 * d0 + row, SHARES)
        v5 = tl.load(board + (0 * d0 + row) * SHARES + others, mask=others < SHARES, other=float("-inf"), volatile=True)
        v6 = tl.max(v5, axis=0)
        v7 = tl.sum(tl.where(v5 == float("-inf"), 0.0, tl.load(board + (1 * d0 + row) * SHARES + others, mask=others < SHARES, other=0.0, volatile=True) * tl.exp(v5 - v6)), axis=0)
        v8 = (v1 - v6)
        tl.store(out + i0 * d1 + i1, (v8 - tl.log(v7)), mask=mask)


def launch(x, out, BLOCK=8192, PROGRAMS=528, WARPS=4):
    d0 = x.shape[0]
    d1 = x.shape[1]
    if BLOCK > 2048 * WARPS:
        raise ValueError("a thread would hold more than 64 elements")
    # so many that all programs run at a time
    REGISTERS = min(248, 65536 // (32 * WARPS * triton.cdiv(PROGRAMS, 132)) // 8 * 8)
    if REGISTERS < BLOCK // (32 * WARPS) + 24:
        raise ValueError("too few registers for so many programs at a time")
    SHARES = triton.cdiv(d1, BLOCK)
    if SHARES > PROGRAMS:
        raise ValueError("rows this long are shared by more programs than run at a time")
    board = scratch((2 * d0 * SHARES,), "float32")
    ready = scratch((1 * d0,), "int32", zero=True)
    step0[(SHARES * min(d0, PROGRAMS // SHARES),)](x, out, board, ready, d0=d0, d1=d1, SHARES=SHARES, WIDTH=triton.next_power_of_2(SHARES), launch_cooperative_grid=True, maxnreg=REGISTERS, BLOCK=BLOCK, num_warps=WARPS)
