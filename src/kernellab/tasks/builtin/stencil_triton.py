"""The stencils as a plain Triton kernel: a tile of rows and columns a program. Needs triton only when called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def tile_a_program(taps: tuple[float, ...]) -> Callable[..., Any]:
    """`taps`: the weights along either axis. Channels lie innermost: a step sideways is as many elements as channels."""

    def smooth_tiles(x: Any, rows: int, columns: int, num_warps: int) -> Any:
        import torch

        from kernellab.tasks.builtin.stencil_triton_kernel import tile_kernel

        height, width, channels = x.shape
        y = torch.empty_like(x)
        length, middle = width * channels, len(taps) // 2
        grid = (-(-length // columns), -(-height // rows))
        weights = (*taps[middle:], 0.0)[:3]
        tile_kernel[grid](x, y, height, length, channels, RADIUS=middle, T0=weights[0], T1=weights[1], T2=weights[2],
                          ROWS=rows, COLUMNS=columns, num_warps=num_warps)  # fmt: skip
        return y

    return smooth_tiles
