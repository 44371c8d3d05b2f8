"""Particle weights in two passes: blockwise maximum and sums, then the final weights.

Hypothesis: bytes decide. Reading both inputs twice (KEEP "none") moves as much as leaving exponentials or log-weights in
the output and rescaling them, but what was just written still lies in L2 (60 MB), dirty: walking back from the end
saves its read and its first write to memory, twice what re-reading inputs can save. MIDDLE says who combines the blocks'
sums: a tiny kernel, the last block to finish (a counter, one launch less) or every program of the second pass.
Refuted if "forward" is as fast as "backward", or if "none" wins: L2 then keeps nothing worth having.
"""

import triton
import triton.language as tl

TASKS = ("particle_filter", "particle_filter_bf16", "particle_filter_f16")
SPACE = {
    "KEEP": ["exp", "log", "none"],
    "BLOCK": [8192, 4096, 16384, 2048],
    "WARPS": [8, 4, 16],
    "ORDER": ["backward", "forward"],
    "MIDDLE": ["last", "kernel", "each"],
    "HINT": ["hold", "plain"],
}
LOG2E = tl.constexpr(1.4426950408889634)
MOST = 64  # elements a thread
PART = tl.constexpr(1024)  # block sums combined at a time


@triton.jit
def log_weight(x, lw, z, at, N, FULL: tl.constexpr, HINT: tl.constexpr):
    if FULL:
        d = tl.load(z).to(tl.float32) - tl.load(x + at, eviction_policy=HINT).to(tl.float32)
        v = tl.load(lw + at, eviction_policy=HINT).to(tl.float32) - 0.5 * d * d
    else:
        d = tl.load(z).to(tl.float32) - tl.load(x + at, mask=at < N, other=0.0, eviction_policy=HINT).to(tl.float32)
        v = tl.load(lw + at, mask=at < N, other=float("-inf"), eviction_policy=HINT).to(tl.float32) - 0.5 * d * d
    return v


@triton.jit
def combine(parts, blocks):
    """Maximum, sum and sum of squares of the whole from those of the blocks."""
    k = tl.arange(0, PART)
    high = tl.full((PART,), float("-inf"), tl.float32)
    for c in range(0, blocks, PART):
        high = tl.maximum(high, tl.load(parts + c + k, mask=c + k < blocks, other=float("-inf"), cache_modifier=".cg"))
    top = tl.max(high, axis=0)
    total = tl.zeros((PART,), tl.float32)
    square = tl.zeros((PART,), tl.float32)
    for c in range(0, blocks, PART):
        live = c + k < blocks
        f = tl.exp2((tl.load(parts + c + k, mask=live, other=float("-inf"), cache_modifier=".cg") - top) * LOG2E)
        total += f * tl.load(parts + blocks + c + k, mask=live, other=0.0, cache_modifier=".cg")
        square += f * f * tl.load(parts + 2 * blocks + c + k, mask=live, other=0.0, cache_modifier=".cg")
    return top, tl.sum(total, axis=0), tl.sum(square, axis=0)


@triton.jit
def finish(parts, blocks, final, ess):
    """What the second pass needs (the maximum and 1 / sum), and the effective sample size."""
    top, total, square = combine(parts, blocks)
    tl.store(final, top)
    tl.store(final + 1, 1.0 / total)
    tl.store(ess, total / square * total)


@triton.jit
def particle_sums(
    x, lw, z, w, ess, parts, final, counter, N, blocks, BLOCK: tl.constexpr, FULL: tl.constexpr, KEEP: tl.constexpr,
    LAST: tl.constexpr, READ: tl.constexpr, WRITE: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    v = log_weight(x, lw, z, at, N, FULL, READ)
    top = tl.max(v, axis=0)
    e = tl.exp2((v - top) * LOG2E)
    if KEEP == "log":
        tl.store(w + at, v, mask=at < N, eviction_policy=WRITE)
    elif KEEP == "exp":
        tl.store(w + at, e, mask=at < N, eviction_policy=WRITE)
    tl.store(parts + pid, top)
    tl.store(parts + blocks + pid, tl.sum(e, axis=0))
    tl.store(parts + 2 * blocks + pid, tl.sum(e * e, axis=0))
    if LAST:
        tl.debug_barrier()
        if tl.atomic_add(counter, 1, sem="acq_rel") == blocks - 1:
            finish(parts, blocks, final, ess)


@triton.jit
def particle_middle(parts, blocks, final, ess):
    finish(parts, blocks, final, ess)


@triton.jit
def particle_weights(
    x, lw, z, w, ess, parts, final, N, blocks, BLOCK: tl.constexpr, FULL: tl.constexpr, KEEP: tl.constexpr,
    EACH: tl.constexpr, BACKWARD: tl.constexpr, READ: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    if BACKWARD:
        b = blocks - 1 - pid
    else:
        b = pid
    at = b * BLOCK + tl.arange(0, BLOCK)
    if KEEP == "none":
        v = log_weight(x, lw, z, at, N, FULL, READ)
    else:
        v = tl.load(w + at, mask=at < N, other=0.0)
    if EACH:
        top, total, square = combine(parts, blocks)
        scale = 1.0 / total
        if pid == 0:
            tl.store(ess, total / square * total)
    else:
        top = tl.load(final)
        scale = tl.load(final + 1)
    if KEEP == "exp":
        out = v * (tl.exp2((tl.load(parts + b) - top) * LOG2E) * scale)
    else:
        out = tl.exp2((v - top) * LOG2E) * scale
    tl.store(w + at, out, mask=at < N)


def launch(x, lw, z, w, ess, KEEP="exp", BLOCK=8192, WARPS=8, ORDER="backward", MIDDLE="last", HINT="hold"):
    if BLOCK > 32 * WARPS * MOST:
        raise ValueError("a block this large does not fit the registers")
    if BLOCK < 128 * WARPS:
        raise ValueError("a block this small leaves threads without a whole vector")
    if x.size > (1 << 31) - BLOCK:
        raise ValueError("more particles than a 32-bit index can name")
    n = x.size
    blocks = triton.cdiv(n, BLOCK)
    parts, final, counter = scratch((3, blocks)), scratch(2), scratch(1, "int32", zero=True)
    hold = HINT == "hold"  # inputs make room for what the second pass will read, or stay themselves
    first = ("evict_last" if KEEP == "none" else "evict_first") if hold else ""
    shape = {"N": n, "blocks": blocks, "BLOCK": BLOCK, "FULL": n % BLOCK == 0, "KEEP": KEEP, "num_warps": WARPS}
    particle_sums[(blocks,)](
        x, lw, z, w, ess, parts, final, counter, LAST=MIDDLE == "last", READ=first,
        WRITE="evict_last" if hold else "", **shape,
    )  # fmt: skip
    if MIDDLE == "kernel":
        particle_middle[(1,)](parts, blocks, final, ess, num_warps=8)
    particle_weights[(blocks,)](
        x, lw, z, w, ess, parts, final, EACH=MIDDLE == "each", BACKWARD=ORDER == "backward",
        READ="evict_first" if hold else "", **shape,
    )  # fmt: skip
