"""Row-softmax with a wide space of parameters: what the throughput of the laboratory is measured on."""

import triton
import triton.language as tl

TASKS = ("softmax", "softmax_bf16", "softmax_f16")
SPACE = {
    "WARPS": [4, 8, 16, 2],
    "PARTS": [1, 2, 4],
    "LOAD": ["", "evict_first", "evict_last"],
    "STORE": ["", ".cs", ".cg", ".wt"],
    "REGISTERS": [0, 64, 96, 128],
    "ORDER": ["divide", "multiply"],
    "SHIFT": ["before", "fused"],
}
LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def softmax_wide(
    x, y, N: tl.constexpr, BLOCK: tl.constexpr, PARTS: tl.constexpr, LOAD: tl.constexpr, STORE: tl.constexpr,
    DIVIDE: tl.constexpr, FUSED: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0).to(tl.int64) * N
    held = ()
    top = float("-inf")
    for p in tl.static_range(PARTS):
        at = p * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + start + at, mask=at < N, other=float("-inf"), eviction_policy=LOAD).to(tl.float32)
        top = tl.maximum(top, tl.max(v, axis=0))
        held = held + (v,)
    total = 0.0
    powers = ()
    for p in tl.static_range(PARTS):
        if FUSED:
            e = tl.exp2(held[p] * LOG2E - top * LOG2E)
        else:
            e = tl.exp2((held[p] - top) * LOG2E)
        total += tl.sum(e, axis=0)
        powers = powers + (e,)
    scale = 1.0 / total
    for p in tl.static_range(PARTS):
        at = p * BLOCK + tl.arange(0, BLOCK)
        if DIVIDE:
            out = powers[p] / total
        else:
            out = powers[p] * scale
        tl.store(y + start + at, out.to(y.dtype.element_ty), mask=at < N, cache_modifier=STORE)


def launch(x, y, WARPS=4, PARTS=1, LOAD="", STORE="", REGISTERS=0, ORDER="divide", SHIFT="before"):
    m, n = x.shape
    block = max(triton.next_power_of_2(triton.cdiv(n, PARTS)), 16)
    if block * PARTS // (32 * WARPS) > 128:
        raise ValueError("more than 128 elements a thread")
    options = {"maxnreg": REGISTERS} if REGISTERS else {}
    softmax_wide[(m,)](
        x, y, n, block, PARTS, LOAD, STORE, ORDER == "divide", SHIFT == "fused", num_warps=WARPS, **options
    )  # fmt: skip
