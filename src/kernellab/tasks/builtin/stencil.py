"""2-D binomial smoothing on (H, W, C) fields, zero padding, channels innermost: 3x3 and 5x5."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from kernellab.tasks.builtin.stencil_triton import tile_a_program
from kernellab.tasks.dtypes import PRECISIONS, variant_name
from kernellab.tasks.inputs import STANDARD, draw_huge, sparse
from kernellab.tasks.narrow import narrow_corners, narrow_shapes
from kernellab.tasks.spec import ON_GPU, Array, Buffer, Dims, Sizes, Task, Tunable

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
    """Depth-wise convolution, which torch offers for this: channels-last memory is the field as it lies.

    In float32 always: on some CPUs torch sums float16 in float16.
    """

    def with_torch_conv2d(x: Any, y: Any) -> None:
        import torch

        taps = torch.tensor(TAPS[radius])
        channels = x.shape[2]
        weight = torch.outer(taps, taps).expand(channels, 1, -1, -1)
        field = x.float().permute(2, 0, 1)[None]
        y.copy_(torch.nn.functional.conv2d(field, weight, padding=radius, groups=channels)[0].permute(1, 2, 0))

    return with_torch_conv2d


def _torch_shifts(radius: int) -> Callable[[Any, Any], None]:
    """Separable shifted sums: what a careful torch user writes. 16-bit fields are summed in float32."""

    def with_torch_shifts(x: Any, y: Any) -> None:
        import torch

        h, w, _ = x.shape
        padded = torch.nn.functional.pad(x.float(), (0, 0, radius, radius, radius, radius))
        columns = padded[0:h] * TAPS[radius][0]
        for k in range(1, 2 * radius + 1):
            columns.add_(padded[k : k + h], alpha=TAPS[radius][k])
        out = y if y.dtype == columns.dtype else torch.empty_like(y, dtype=columns.dtype)
        torch.mul(columns[:, 0:w], TAPS[radius][0], out=out)
        for k in range(1, 2 * radius + 1):
            out.add_(columns[:, k : k + w], alpha=TAPS[radius][k])
        if out is not y:
            y.copy_(out)

    return with_torch_shifts


def _gpu_shifts(radius: int) -> Callable[[Any], Any]:
    """The separable sums once more, as an expression that a compiler can fuse; float32 inside, rounded once."""

    def shifts_on_gpu(x: Any) -> Any:
        import torch

        h, w, _ = x.shape
        taps = TAPS[radius]
        padded = torch.nn.functional.pad(x.float(), (0, 0, radius, radius, radius, radius))
        columns = padded[0:h] * taps[0]
        for k in range(1, 2 * radius + 1):
            columns = columns.add(padded[k : k + h], alpha=taps[k])
        out = columns[:, 0:w] * taps[0]
        for k in range(1, 2 * radius + 1):
            out = out.add(columns[:, k : k + w], alpha=taps[k])
        return out.to(x.dtype)

    return shifts_on_gpu


@cache
def _weight(radius: int, channels: int, dtype: Any, device: Any) -> Any:
    """The filter as a user keeps it: on the device, made once. Its values are exact in every float dtype."""
    import torch

    taps = torch.tensor(TAPS[radius], dtype=dtype, device=device)
    return torch.outer(taps, taps).expand(channels, 1, -1, -1).contiguous()


def _conv(x: Any, weight: Any, radius: int, groups: int) -> Any:
    """cuDNN as fast as it goes at the precision asked for: its own trials of algorithms, no TF32."""
    import torch

    with torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=False):
        return torch.nn.functional.conv2d(x, weight, padding=radius, groups=groups)


def _gpu_depthwise(radius: int) -> Callable[[Any], Any]:
    """Depth-wise on the field as it lies, which is channels-last memory; the result is a view in the field's order."""

    def depthwise_on_gpu(x: Any) -> Any:
        channels = x.shape[2]
        weight = _weight(radius, channels, x.dtype, x.device)
        return _conv(x.permute(2, 0, 1)[None], weight, radius, channels)[0].permute(1, 2, 0)

    return depthwise_on_gpu


def _gpu_planes(radius: int) -> Callable[[Any], Any]:
    """Each channel an image of its own: a view with one channel; with more, torch gathers the planes first."""

    def planes_on_gpu(x: Any) -> Any:
        weight = _weight(radius, 1, x.dtype, x.device)
        return _conv(x.permute(2, 0, 1)[:, None], weight, radius, 1)[:, 0].permute(1, 2, 0)

    return planes_on_gpu


_TILES = {"rows": (4, 1), "columns": (256, 512, 1024), "num_warps": (4, 8)}
_ODD: tuple[Dims, ...] = ({"H": 1, "W": 1, "C": 1}, {"H": 67, "W": 129, "C": 1}, {"H": 33, "W": 50, "C": 16})


def _gpu_sizes(radius: int) -> Sizes:
    return Sizes(
        tune=({"H": 4096, "W": 4096, "C": 1}, {"H": 2048, "W": 2048, "C": 16}),
        held_out=({"H": 3000, "W": 5000, "C": 1}, {"H": 1500, "W": 2100, "C": 3}, {"H": 1000, "W": 1024, "C": 16}),
        edge=({"H": 1, "W": 37, "C": 1}, {"H": 41, "W": 1, "C": 2}, *narrow_corners(radius, ("H", "W"), "C"), *_ODD),
    )


def _task(radius: int, dtype: str) -> Task:
    size = 2 * radius + 1

    def reference(x: Array) -> Array:
        return _smooth(x, radius)

    def scale(x: Array) -> Array:
        return _smooth(np.abs(x), radius)

    def flops(dims: Dims) -> int:
        """The separable form: two passes of `size` multiply-adds."""
        return 4 * size * dims["H"] * dims["W"] * dims["C"]

    return Task(
        name=variant_name(f"stencil{size}x{size}", dtype),
        about=f"{size}x{size} binomial smoothing of x[H, W, C], zero padding"
        + ("" if dtype == "float32" else f", {dtype}"),
        inputs=(Buffer("x", ("H", "W", "C"), dtype),),
        outputs=(Buffer("y", ("H", "W", "C"), dtype),),
        reference=reference,
        baselines={"numpy": _numpy(radius), "torch": _torch_shifts(radius), "torch.conv2d": _torch_conv(radius)},
        gpu_baselines={
            "torch": _gpu_shifts(radius), "cudnn": _gpu_depthwise(radius), "cudnn-planes": _gpu_planes(radius),
            "triton-plain": Tunable(tile_a_program(TAPS[radius]), _TILES),
        },
        tune=({"H": 2048, "W": 2048, "C": 1}, {"H": 1024, "W": 1024, "C": 4}, {"H": 512, "W": 512, "C": 16}),
        held_out=({"H": 1000, "W": 1500, "C": 1}, {"H": 700, "W": 333, "C": 3}, {"H": 300, "W": 500, "C": 8}),
        edge=(*narrow_shapes(radius, ("H", "W"), "C"), {"H": 3, "W": 2, "C": 5}, *_ODD),
        sizes={ON_GPU: _gpu_sizes(radius)},
        quick={"H": 512, "W": 512, "C": 2},
        distributions={**STANDARD, "large": draw_huge, "sparse": sparse("x", among=size * size)},
        flops=flops,
        scale=scale,
        reduction=lambda dims: size * size,
        halo=radius,
    )  # fmt: skip


TASKS = tuple(_task(radius, dtype) for radius in TAPS for dtype in PRECISIONS)
