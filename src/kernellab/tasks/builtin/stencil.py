"""2-D binomial smoothing on (H, W, C) fields, zero padding, channels innermost: 3x3 and 5x5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernellab.tasks.inputs import STANDARD
from kernellab.tasks.spec import Array, Buffer, Dims, Task

TAPS = {1: (0.25, 0.5, 0.25), 2: (0.0625, 0.25, 0.375, 0.25, 0.0625)}
"""Binomial weights by radius: exact in binary, so that separable evaluation is exact up to rounding."""


def _smooth(x: Array, radius: int) -> Array:
    """Both axes, one after the other; the sum of products in float64 is far below any float32 budget."""
    h, w, _ = x.shape
    padded = np.pad(x, ((radius, radius), (radius, radius), (0, 0)))
    columns = np.zeros((h, w + 2 * radius, x.shape[2]), x.dtype)
    for k, tap in enumerate(TAPS[radius]):
        columns += x.dtype.type(tap) * padded[k : k + h]
    out = np.zeros_like(x)
    for k, tap in enumerate(TAPS[radius]):
        out += x.dtype.type(tap) * columns[:, k : k + w]
    return out


def _numpy(radius: int) -> Callable[[Array, Array], None]:
    def with_numpy(x: Array, y: Array) -> None:
        y[...] = _smooth(x, radius)

    return with_numpy


def _torch_conv(radius: int) -> Callable[[Any, Any], None]:
    """Depth-wise convolution, which torch offers for this: channels-last memory is the field as it lies."""

    def with_torch_conv2d(x: Any, y: Any) -> None:
        import torch

        taps = torch.tensor(TAPS[radius], dtype=x.dtype)
        channels = x.shape[2]
        weight = torch.outer(taps, taps).expand(channels, 1, -1, -1)
        y.copy_(
            torch.nn.functional.conv2d(x.permute(2, 0, 1)[None], weight, padding=radius, groups=channels)[0].permute(
                1, 2, 0
            )
        )

    return with_torch_conv2d


def _torch_shifts(radius: int) -> Callable[[Any, Any], None]:
    """Separable shifted sums: what a careful torch user writes."""

    def with_torch_shifts(x: Any, y: Any) -> None:
        import torch

        h, w, _ = x.shape
        padded = torch.nn.functional.pad(x, (0, 0, radius, radius, radius, radius))
        columns = padded[0:h] * TAPS[radius][0]
        for k in range(1, 2 * radius + 1):
            columns.add_(padded[k : k + h], alpha=TAPS[radius][k])
        torch.mul(columns[:, 0:w], TAPS[radius][0], out=y)
        for k in range(1, 2 * radius + 1):
            y.add_(columns[:, k : k + w], alpha=TAPS[radius][k])

    return with_torch_shifts


def _task(radius: int) -> Task:
    size = 2 * radius + 1

    def reference(x: Array) -> Array:
        return _smooth(x, radius)

    def scale(x: Array) -> Array:
        return _smooth(np.abs(x), radius)

    def flops(dims: Dims) -> int:
        """The separable form: two passes of `size` multiply-adds."""
        return 4 * size * dims["H"] * dims["W"] * dims["C"]

    return Task(
        name=f"stencil{size}x{size}",
        about=f"{size}x{size} binomial smoothing of x[H, W, C], zero padding",
        inputs=(Buffer("x", ("H", "W", "C")),),
        outputs=(Buffer("y", ("H", "W", "C")),),
        reference=reference,
        baselines={"numpy": _numpy(radius), "torch": _torch_shifts(radius), "torch.conv2d": _torch_conv(radius)},
        tune=({"H": 2048, "W": 2048, "C": 1}, {"H": 1024, "W": 1024, "C": 4}, {"H": 512, "W": 512, "C": 16}),
        held_out=({"H": 1000, "W": 1500, "C": 1}, {"H": 700, "W": 333, "C": 3}, {"H": 300, "W": 500, "C": 8}),
        edge=(
            {"H": 1, "W": 1, "C": 1}, {"H": 1, "W": 37, "C": 1}, {"H": 41, "W": 1, "C": 2}, {"H": 3, "W": 2, "C": 5},
            {"H": 67, "W": 129, "C": 1}, {"H": 33, "W": 50, "C": 16},
        ),
        distributions=STANDARD,
        flops=flops,
        scale=scale,
        reduction=lambda dims: size * size,
    )  # fmt: skip


TASKS = (_task(1), _task(2))
