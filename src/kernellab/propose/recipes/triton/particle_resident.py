"""Particle weights by one program a multiprocessor, in one launch: nothing leaves the chip in between.

Hypothesis: registers and L2 together hold the 64 MB of log-weights of 2^24 particles. Each of at most 132 programs
walks its share once, with a running maximum and sums in every thread (no barrier in the loop), leaves log-weights in
the output (held in L2, the inputs marked as used up) and the last HELD tiles in registers; all programs meet at a
counter; then each finishes its own tiles, registers first, the rest backwards. Memory sees little more than two reads
and one write. MEET "launch" ends the kernel there instead and starts a second one. With few PROGRAMS, down to one, it
suits small N, where launches cost most. Refuted if two plain passes are as fast: one program a multiprocessor then
cannot keep the memory busy, or L2 does not hold.
"""

import triton
import triton.language as tl

TASKS = ("particle_filter", "particle_filter_bf16", "particle_filter_f16")
SPACE = {
    "PROGRAMS": [132, 64, 16, 1],
    "WARPS": [32, 16],
    "GROUPS": [2, 1, 4],
    "HELD": [0, 1, 2, 4, 6, 8],
    "MEET": ["spin", "launch"],
    "HINT": ["hold", "plain"],
}
LOG2E = tl.constexpr(1.4426950408889634)
LOWEST = tl.constexpr(-3.0e38)  # below every log-weight; -inf would make differences of itself


@triton.jit
def log_weight(x, lw, zz, at, N, HINT: tl.constexpr):
    d = zz - tl.load(x + at, mask=at < N, other=0.0, eviction_policy=HINT).to(tl.float32)
    return tl.load(lw + at, mask=at < N, other=float("-inf"), eviction_policy=HINT).to(tl.float32) - 0.5 * d * d


@triton.jit
def add_tile(v, top, total, square):
    """The running maximum and sums of each thread, one more tile on."""
    higher = tl.maximum(top, tl.max(v, axis=1))
    shrink = tl.exp2((top - higher) * LOG2E)
    e = tl.exp2((v - higher[:, None]) * LOG2E)
    total = total * shrink + tl.sum(e, axis=1)
    square = square * (shrink * shrink) + tl.sum(e * e, axis=1)
    return higher, total, square


@triton.jit
def particle_resident(
    x, lw, z, w, ess, parts, counter, N, STREAMED: tl.constexpr, HELD: tl.constexpr, P: tl.constexpr, PAD: tl.constexpr,
    G: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr, READ: tl.constexpr, WRITE: tl.constexpr,
):  # fmt: skip
    """Tile i of this program is tile pid + i P of the whole; STREAMED of them go through w, then HELD stay here."""
    pid = tl.program_id(0)
    own = pid * (4 * G) + tl.arange(0, G)[:, None] * 4 + tl.arange(0, 4)[None, :]
    held = ()
    if FIRST:
        zz = tl.load(z).to(tl.float32)
        top = tl.full((G,), LOWEST, tl.float32)
        total = tl.zeros((G,), tl.float32)
        square = tl.zeros((G,), tl.float32)
        for i in range(STREAMED):
            at = own + i * (P * 4 * G)
            v = log_weight(x, lw, zz, at, N, READ)
            tl.store(w + at, v, mask=at < N, eviction_policy=WRITE)
            top, total, square = add_tile(v, top, total, square)
        for i in tl.static_range(HELD):
            held = held + (log_weight(x, lw, zz, own + (STREAMED + i) * (P * 4 * G), N, READ),)
        for i in tl.static_range(HELD):
            top, total, square = add_tile(held[i], top, total, square)
        peak = tl.max(top, axis=0)
        f = tl.exp2((top - peak) * LOG2E)
        tl.store(parts + pid, peak)
        tl.store(parts + P + pid, tl.sum(total * f, axis=0))
        tl.store(parts + 2 * P + pid, tl.sum(square * f * f, axis=0))
    if FIRST and SECOND:
        tl.debug_barrier()
        arrived = tl.atomic_add(counter, 1, sem="acq_rel") + 1
        while arrived < P:  # all P programs run at once, so none waits for one that cannot start
            arrived = tl.atomic_add(counter, 0, sem="acq_rel")
    if SECOND:
        k = tl.arange(0, PAD)
        tops = tl.load(parts + k, mask=k < P, other=float("-inf"), cache_modifier=".cg")
        peak = tl.max(tops, axis=0)
        f = tl.exp2((tops - peak) * LOG2E)
        all_total = tl.sum(f * tl.load(parts + P + k, mask=k < P, other=0.0, cache_modifier=".cg"), axis=0)
        all_square = tl.sum(f * f * tl.load(parts + 2 * P + k, mask=k < P, other=0.0, cache_modifier=".cg"), axis=0)
        scale = 1.0 / all_total
        for i in tl.static_range(HELD):
            at = own + (STREAMED + i) * (P * 4 * G)
            tl.store(w + at, tl.exp2((held[i] - peak) * LOG2E) * scale, mask=at < N)
        for i in range(STREAMED):
            at = own + (STREAMED - 1 - i) * (P * 4 * G)
            v = tl.load(w + at, mask=at < N, other=0.0)
            tl.store(w + at, tl.exp2((v - peak) * LOG2E) * scale, mask=at < N)
        if pid == 0:
            tl.store(ess, all_total / all_square * all_total)


def launch(x, lw, z, w, ess, PROGRAMS=132, WARPS=32, GROUPS=2, HELD=0, MEET="spin", HINT="hold"):
    if PROGRAMS > 132:
        raise ValueError("more programs than multiprocessors: those that wait could keep others from starting")
    if HELD and MEET == "launch":
        raise ValueError("registers do not outlive a launch")
    if (4 if WARPS == 32 else 12) < HELD * GROUPS:
        raise ValueError("so many tiles do not fit the registers")
    n, group = x.size, 32 * WARPS * GROUPS
    if n > (1 << 31) - PROGRAMS * 4 * group:
        raise ValueError("more particles than a 32-bit index can name")
    programs = min(PROGRAMS, triton.cdiv(n, 4 * group))
    each = triton.cdiv(n, programs * 4 * group)
    held = min(HELD, each)
    parts, counter = scratch((3, programs)), scratch(1, "int32", zero=True)
    steps = [(True, True)] if MEET == "spin" else [(True, False), (False, True)]
    for first, second in steps:
        particle_resident[(programs,)](
            x, lw, z, w, ess, parts, counter, n, STREAMED=each - held, HELD=held, P=programs,
            PAD=triton.next_power_of_2(programs), G=group, FIRST=first, SECOND=second,
            READ="evict_first" if HINT == "hold" else "", WRITE="evict_last" if HINT == "hold" else "",
            num_warps=WARPS,
        )  # fmt: skip
