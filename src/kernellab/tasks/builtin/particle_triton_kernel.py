# mypy: ignore-errors
"""The kernels of particle_triton.py, in a file of its own: importing it needs triton, which reads its source."""

import triton
import triton.language as tl


@triton.jit
def log_weights(x, lw, z, at, n):
    """-inf beyond the end."""
    away = tl.load(z).to(tl.float32) - tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    return tl.load(lw + at, mask=at < n, other=-float("inf")).to(tl.float32) - 0.5 * away * away


@triton.jit
def block_kernel(x, lw, z, parts, n, blocks, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    values = log_weights(x, lw, z, block * BLOCK + tl.arange(0, BLOCK), n)
    top = tl.max(values, axis=0)
    e = tl.exp(values - top)
    tl.store(parts + block, top)
    tl.store(parts + blocks + block, tl.sum(e, axis=0))
    tl.store(parts + 2 * blocks + block, tl.sum(e * e, axis=0))


@triton.jit
def merge_kernel(parts, totals, ess, blocks, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tops = tl.load(parts + at, mask=at < blocks, other=-float("inf"))
    top = tl.max(tops, axis=0)
    scale = tl.exp(tops - top)
    total = tl.sum(scale * tl.load(parts + blocks + at, mask=at < blocks, other=0.0), axis=0)
    square = tl.sum(scale * scale * tl.load(parts + 2 * blocks + at, mask=at < blocks, other=0.0), axis=0)
    tl.store(totals, top)
    tl.store(totals + 1, total)
    tl.store(ess, total * total / square)


@triton.jit
def weights_kernel(x, lw, z, totals, w, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    e = tl.exp(log_weights(x, lw, z, at, n) - tl.load(totals))
    tl.store(w + at, e / tl.load(totals + 1), mask=at < n)
