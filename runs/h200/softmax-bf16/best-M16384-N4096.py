"""Row softmax, one row a program, the whole row in registers.

Hypothesis: with a row read once and written once, 16 bytes a lane, enough programs a multiprocessor hide every latency
and the kernel runs at the speed of a copy; the number of warps a row and the cache hints (data used once need not stay)
decide the rest. Refuted where a row gives a warp too little to do (512 elements and fewer): reductions then dominate.
"""

import triton
import triton.language as tl

TASKS = ("softmax", "softmax_bf16", "softmax_f16")
SPACE = {
    "WARPS": [4, 2, 8, 1, 16],
    "LOAD": ["plain", "first"],
    "STORE": ["plain", "stream"],
}
LOG2E = tl.constexpr(1.4426950408889634)
MOST = 64  # elements a thread


@triton.jit
def softmax_row(
    x, y, N: tl.constexpr, BLOCK: tl.constexpr, FUSED: tl.constexpr, LOAD: tl.constexpr, STORE: tl.constexpr
):
    start = tl.program_id(0).to(tl.int64) * N
    at = tl.arange(0, BLOCK)
    if N == BLOCK:
        v = tl.load(x + start + at, eviction_policy=LOAD).to(tl.float32)
    else:
        v = tl.load(x + start + at, mask=at < N, other=float("-inf"), eviction_policy=LOAD).to(tl.float32)
    top = tl.max(v, axis=0)
    if FUSED:  # one multiply-add; its shift is off by the rounding of top * LOG2E, the same for the whole row
        e = tl.exp2(v * LOG2E - top * LOG2E)
    else:
        e = tl.exp2((v - top) * LOG2E)
    out = (e * (1.0 / tl.sum(e, axis=0))).to(y.dtype.element_ty)
    if N == BLOCK:
        tl.store(y + start + at, out, cache_modifier=STORE)
    else:
        tl.store(y + start + at, out, mask=at < N, cache_modifier=STORE)


def launch(x, y, WARPS=4, LOAD="plain", STORE="plain"):
    m, n = x.shape
    block = triton.next_power_of_2(n)
    if block > 32 * 32 * MOST:
        raise ValueError("a row this long does not fit the registers of one program")
    softmax_row[(m,)](
        x, y, N=n, BLOCK=block, FUSED=x.dtype != "float32",
        LOAD="evict_first" if LOAD == "first" else "", STORE=".cs" if STORE == "stream" else "",
        num_warps=max(WARPS, block // (32 * MOST)),
    )  # fmt: skip
