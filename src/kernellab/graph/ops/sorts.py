"""Sorting: values within reach may change places, and then their indices do."""

from __future__ import annotations

from kernellab.graph.ops.pairs import Call, Choice, Pair, Scaled
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.rules import monotone
from kernellab.graph.ops.shapes import like_first_pair, topk_shape


def sort(call: Call) -> Scaled:
    """By value at each place: an index passes when its element is within reach of the one that belongs there."""
    x: Pair = call.args[0]
    moved = monotone(call)
    dim = call.argument(1, "dim", -1) if call.op.startswith("aten.sort") else call.argument(2, "dim", -1)
    choice = Choice(x, dim, call.results[0], True)
    return Scaled((moved.scales[0], call.results[1].double() * 0), exact=moved.exact, choices={1: choice})  # type: ignore[union-attr]


ROWS: list[Op] = [
    *ops("sort", "sort", sort, like_first_pair),
    *ops("topk", "sort", sort, topk_shape),
]
