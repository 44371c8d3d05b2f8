"""Sorting: values within reach may change places, and then their indices do."""

from __future__ import annotations

from collections.abc import Callable

from kernellab.graph.ops.open_places import unsure
from kernellab.graph.ops.pairs import Call, Choice, Pair, Scaled, Tensor
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.rules import monotone
from kernellab.graph.ops.shapes import like_first_pair, topk_shape


def sort(call: Call) -> Scaled:
    """By value at each place: an index passes when its element is within reach of the one that belongs there. A stable sort
    says which of two equal ones comes first: there is one answer where nothing was rounded."""
    x: Pair = call.args[0]
    moved = monotone(call)
    if x.exact and call.kwargs.get("stable"):
        return moved
    dim = call.argument(1, "dim", -1) if call.op.startswith("aten.sort") else call.argument(2, "dim", -1)
    choice = Choice(x, dim, call.results[0], True, call.reach(x), distinct=True)
    return Scaled((moved.scales[0], _open(choice, call.results[1])), exact=moved.exact, choices={1: choice})


def _open(choice: Choice, index: Tensor) -> Tensor:
    """Where another index may stand, which may be any."""
    source = choice.source.value
    if not source.dim():
        return index.double() * 0
    found = unsure(source.double(), choice.reach, choice.dim).gather(choice.dim, index)
    return found.double() * (source.shape[choice.dim] - 1)


def ranked(dim_at: int) -> Callable[[Call], Scaled]:
    """The k-th smallest or the median along a dim, and an index of it."""

    def rule(call: Call) -> Scaled:
        moved = monotone(call)
        dim, keep = call.argument(dim_at, "dim", -1), bool(call.argument(dim_at + 1, "keepdim", False))
        value = call.results[0]
        best = value if keep or value is None else value.unsqueeze(dim)
        choice = Choice(call.args[0], dim, best, keep, call.reach(call.args[0]))
        return Scaled(moved.scales, exact=moved.exact, choices={1: choice})

    return rule


ROWS: list[Op] = [
    *ops("sort", "sort", sort, like_first_pair),
    *ops("topk", "sort", sort, topk_shape),
    *ops("kthvalue", "sort", ranked(2), None),
    *ops("median.dim", "sort", ranked(1), None),
]
