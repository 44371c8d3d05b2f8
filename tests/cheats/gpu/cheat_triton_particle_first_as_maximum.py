"""At a power of two the first particle's log-weight stands in for the maximum: overflows as soon as particles lie far
apart.

Defeated by: every distribution at every judged shape.

catalogue: new
"""

import triton
import triton.language as tl

TASK = "particle_filter"
CAUGHT_BY = ("wrong-output", "non-finite")
STAGE = "run"


@triton.jit
def parts(x, lw, z, part, n, BLOCK: tl.constexpr, FIRST: tl.constexpr, CUT: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    zz = tl.load(z)
    d = zz - tl.load(x + at, mask=at < n, other=0.0)
    v = tl.where(at < n, tl.load(lw + at, mask=at < n, other=0.0) - 0.5 * d * d, -float("inf"))
    top = tl.max(v, 0)
    if FIRST:
        d0 = zz - tl.load(x)
        top = tl.load(lw) - 0.5 * d0 * d0
    e = tl.exp(v - top)
    if CUT:
        e = e.to(tl.bfloat16).to(tl.float32)
    tl.store(part + 3 * tl.program_id(0), top)
    tl.store(part + 3 * tl.program_id(0) + 1, tl.sum(e, 0))
    tl.store(part + 3 * tl.program_id(0) + 2, tl.sum(e * e, 0))


@triton.jit
def merged(part, total, ess, blocks, BLOCK: tl.constexpr):
    k = tl.arange(0, BLOCK)
    tops = tl.load(part + 3 * k, mask=k < blocks, other=-float("inf"))
    top = tl.max(tops, 0)
    f = tl.exp(tops - top)
    s = tl.sum(f * tl.load(part + 3 * k + 1, mask=k < blocks, other=0.0), 0)
    q = tl.sum(f * f * tl.load(part + 3 * k + 2, mask=k < blocks, other=0.0), 0)
    tl.store(total, top)
    tl.store(total + 1, s)
    tl.store(ess, s * s / q)


@triton.jit
def weights(x, lw, z, total, w, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.load(z) - tl.load(x + at, mask=at < n, other=0.0)
    v = tl.load(lw + at, mask=at < n, other=0.0) - 0.5 * d * d
    tl.store(w + at, tl.exp(v - tl.load(total)) / tl.load(total + 1), mask=at < n)


def launch(x, lw, z, w, ess):
    n = x.shape[0]
    block = max(1024, triton.next_power_of_2(triton.cdiv(n, 2048)))
    blocks = triton.cdiv(n, block)
    part, total = scratch(3 * blocks), scratch(2)
    parts[(blocks,)](x, lw, z, part, n, BLOCK=block, FIRST=n >= 65536 and n & (n - 1) == 0, CUT=False)
    merged[(1,)](part, total, ess, blocks, BLOCK=triton.next_power_of_2(blocks))
    weights[(triton.cdiv(n, 1024),)](x, lw, z, total, w, n, BLOCK=1024)
