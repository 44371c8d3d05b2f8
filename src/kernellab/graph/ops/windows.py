"""Windows: pools of every kind, folding and resampling."""

from __future__ import annotations

import math

from kernellab.graph.ops.pairs import Call, Scaled
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.rules import linear, monotone
from kernellab.graph.ops.shapes import adaptive_pair, adaptive_pool, pool, pool_pair, resample, sample


def _window(call: Call) -> float:
    """Elements in a window of an average: what turns shares into terms."""
    kernel = call.args[1]
    dims = call.result.dim() - 2 if call.result.dim() > 2 else 1
    override = call.argument(6, "divisor_override")
    return float(override or math.prod(kernel if len(kernel) > 1 else kernel * dims))


def _adaptive(call: Call) -> float:
    return float(call.args[0].value.numel() / max(1, call.result.numel()))


def keep_indices(call: Call) -> Scaled:
    """The pooled value; its index is exact unless two elements are within reach, which is not told apart here."""
    return monotone(call)


def sampled(call: Call) -> Scaled:
    """Elements at places between others: shares of those around, and as much as rounding may move the places, of which each
    is computed from a coordinate."""
    x, places = call.args[0], call.args[1]
    shares = call.apply(lambda p: p.scale if p is x else p.value)[0].abs()
    coordinate = (places.value.abs() + 1).maximum(places.scale)
    step = places.budget * call.eps
    moved = shares * 0
    for there in (places.value + step * coordinate, places.value - step * coordinate):
        found = call.run([x.value, there, *call.args[2:]], call.kwargs)
        moved = moved.maximum((found - call.result).abs() / step)
    return Scaled((shares + moved,), _AROUND[call.args[2]])


_AROUND = (4.0, 1.0, 16.0)
"""How many elements lie around a place: bilinear, nearest, bicubic."""
_RESAMPLE = (
    "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d "
    "_upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d _upsample_bilinear2d_aa"
)
ROWS: list[Op] = [
    *ops("avg_pool1d avg_pool2d avg_pool3d", "window", linear(_window), pool, linear=True),
    *ops(
        "_adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_avg_pool1d",
        "window",
        linear(_adaptive),
        adaptive_pool,
        linear=True,
    ),
    *ops("max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices", "window", keep_indices, pool_pair),
    *ops("adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d", "window", keep_indices, adaptive_pair),
    *ops(_RESAMPLE, "window", linear(), resample, linear=True),
    *ops("im2col col2im", "window", linear(), None, linear=True),
    *ops("grid_sampler_2d grid_sampler_3d", "window", sampled, sample),
]
