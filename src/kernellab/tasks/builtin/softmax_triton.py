"""Softmax in Triton as a GPU user finds it first: the tutorial's fused softmax, and the plain kernel with a row a program.
Both hold a whole row, padded to a power of two. They need triton only when they are called."""

from __future__ import annotations

from functools import cache
from typing import Any

_THREADS_A_WARP = 32
_WARPS_AN_SM = 64
_NO_GPU_PROGRAMS = 8


def row_a_program(x: Any, num_warps: int) -> Any:
    """As many programs as rows."""
    import torch

    from kernellab.tasks.builtin.softmax_triton_kernel import row_kernel

    rows, columns = x.shape
    y = torch.empty_like(x)
    row_kernel[(rows,)](x, y, x.stride(0), y.stride(0), columns, BLOCK=_block(columns), num_warps=num_warps)
    return y


def as_in_the_tutorial(x: Any, num_warps: int, num_stages: int) -> Any:
    """As many programs as the device holds at once; each goes on to the next row of its share."""
    import torch

    from kernellab.tasks.builtin.softmax_triton_kernel import rows_kernel

    rows, columns = x.shape
    y = torch.empty_like(x)
    options = {"BLOCK": _block(columns), "STAGES": num_stages, "num_warps": num_warps}
    resident = _resident(x.dtype, x.device, **options) if x.is_cuda else _NO_GPU_PROGRAMS
    rows_kernel[(min(rows, resident),)](x, y, x.stride(0), y.stride(0), rows, columns, **options)
    return y


def _block(columns: int) -> int:
    return 1 << (columns - 1).bit_length()


@cache
def _resident(dtype: Any, device: Any, **options: int) -> int:
    """How many programs the device holds at once, by the registers and the shared memory of the compiled kernel."""
    import torch

    from kernellab.tasks.builtin.softmax_triton_kernel import rows_kernel

    facts: Any = torch.cuda.get_device_properties(device)
    block, warps = options["BLOCK"], options["num_warps"]
    row = torch.empty((1, block), dtype=dtype, device=device)
    compiled = rows_kernel.warmup(row, row, block, block, 1 << 16, block, grid=(1,), **options)
    compiled._init_handles()
    by_registers = facts.regs_per_multiprocessor // (max(compiled.n_regs, 1) * _THREADS_A_WARP * warps)
    by_shared = facts.shared_memory_per_multiprocessor // max(compiled.metadata.shared, 1)
    return int(facts.multi_processor_count * max(1, min(by_registers, by_shared, _WARPS_AN_SM // warps)))
