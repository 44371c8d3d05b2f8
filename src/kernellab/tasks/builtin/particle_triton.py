"""The weight update as three plain Triton kernels: sums by block, all sums, weights. Needs triton only when called."""

from __future__ import annotations

from typing import Any


def in_three_steps(x: Any, lw: Any, z: Any, block: int, num_warps: int) -> tuple[Any, Any]:
    import torch

    from kernellab.tasks.builtin.particle_triton_kernel import block_kernel, merge_kernel, weights_kernel

    n = x.numel()
    blocks = -(-n // block)
    parts = torch.empty((3, blocks), dtype=torch.float32, device=x.device)
    totals = torch.empty(2, dtype=torch.float32, device=x.device)
    w = torch.empty(n, dtype=torch.float32, device=x.device)
    ess = torch.empty(1, dtype=torch.float32, device=x.device)
    block_kernel[(blocks,)](x, lw, z, parts, n, blocks, BLOCK=block, num_warps=num_warps)
    merge_kernel[(1,)](parts, totals, ess, blocks, BLOCK=1 << (blocks - 1).bit_length(), num_warps=8)
    weights_kernel[(blocks,)](x, lw, z, totals, w, n, BLOCK=block, num_warps=num_warps)
    return w, ess
