"""Tensors made from sizes and numbers alone."""

from __future__ import annotations

from kernellab.graph.ops.pairs import Call, Scaled
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.shapes import arange, like_first, scalar, sized


def made(call: Call) -> Scaled:
    """Known numbers: their own magnitude, and nothing was rounded."""
    result = call.result
    return Scaled((result.abs() if result.is_floating_point() else result.double() * 0,), exact=True)


ROWS: list[Op] = [
    *ops("full zeros ones", "factory", made, sized),
    *ops("full_like zeros_like ones_like fill", "factory", made, like_first),
    *ops("new_full new_zeros new_ones", "factory", made, None),
    *ops("arange", "factory", made, arange),
    *ops("scalar_tensor", "factory", made, scalar),
    *ops("eye linspace logspace tril_indices triu_indices", "factory", made, None),
]
