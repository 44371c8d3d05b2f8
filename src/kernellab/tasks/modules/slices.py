"""A graph in slices, where a device has too little memory for it in float64: those along a size that only repeats the work.

Whether a size is such a one is tried on a small example: the halves must give the halves, value and scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from kernellab.graph.need_torch import need_torch
from kernellab.graph.record import GraphInput, GraphRecord
from kernellab.graph.scale import Judged, propagate

Judge = Callable[[Mapping[str, Any]], list[Judged]]
COUNTS = (1, 8, 64)
"""Into how many slices a graph is cut, where it does not fit into memory in fewer."""


class Fitting:
    """How many slices it took, by the number of elements: what did not fit once is not tried again."""

    def __init__(self) -> None:
        self._taken: dict[int, int] = {}

    def counts(self, elements: int, known: Sequence[int]) -> list[int]:
        """Those of the `known` that are worth trying."""
        least = max((count for size, count in self._taken.items() if size <= elements), default=1)
        return [count for count in known if count >= least] or [known[-1]]

    def took(self, elements: int, count: int) -> None:
        self._taken[elements] = max(count, self._taken.get(elements, 1))


_FAR = 1e-9


def repeating_size(graph: GraphRecord, device: str = "cpu") -> str:
    """The size along which the graph falls into independent parts, or ''. Where nothing is looked up at a place, that is
    tried on the device: fixed weights may be large."""
    leading = {o.type.extents[0] if o.type.extents else 0 for o in graph.outputs}
    name = leading.pop() if len(leading) == 1 else 0
    if not isinstance(name, str) or name not in {s.name for s in graph.symbols}:
        return ""
    inside = [i for i in graph.inputs if name in map(str, i.type.extents[1:])]
    example = _SmallExample(graph, name, device if graph.floats_alone else "cpu")
    return "" if inside or not example.falls_apart() else name


def judged_in(
    graph: GraphRecord, name: str, judge: Judge, inputs: Mapping[str, Any], count: int, fair: bool = True
) -> Iterator[tuple[slice, list[Judged]]]:
    """The outputs in about `count` slices along this size. `fair`: what the worst slice may be off, all may, as if there
    were one; that takes going through them twice. Else each has a budget of its own, which is no larger."""
    if count == 1:
        yield slice(None), judge(inputs)
        return
    if not fair:
        yield from ((here, judge(part)) for here, part in parts(graph, name, inputs, count))
        return
    worst: list[tuple[float, float]] = []
    for _, part in parts(graph, name, inputs, count):
        found = [(j.budget_ulp, j.most_rms_ulp) for j in judge(part)]
        worst = [(max(a, b), max(c, d)) for (a, c), (b, d) in zip(found, worst or found, strict=True)]
    for here, part in parts(graph, name, inputs, count):
        pairs = zip(judge(part), worst, strict=True)
        yield here, [replace(judged, budget_ulp=budget, most_rms_ulp=most) for judged, (budget, most) in pairs]


def parts(
    graph: GraphRecord, name: str, inputs: Mapping[str, Any], count: int
) -> Iterator[tuple[slice, dict[str, Any]]]:
    """About `count` slices, and the inputs of each; what has not this size goes into all of them."""
    whole = {i.name for i in graph.inputs if not i.type.extents or i.type.extents[0] != name}
    long = next(inputs[i.name].shape[0] for i in graph.inputs if i.name not in whole)
    least = next(s.low for s in graph.symbols if s.name == name)
    count = max(1, min(count, long // max(1, least)))
    for n in range(count):
        here = slice(long * n // count, long * (n + 1) // count)
        yield here, {k: v if k in whole else v[here] for k, v in inputs.items()}


Whole = Callable[[Any], Any]
_WHOLE: tuple[Whole, ...] = (
    lambda ones: ones, lambda ones: ones.new_zeros(ones.shape), lambda ones: (ones.cumsum(0) % 2).to(ones.dtype),
)  # fmt: skip
"""What integers and booleans are in turn: a branch that mixes rows may be taken for some of them alone. Floats are drawn
anew for each, since a sum over rows may be cut off at zero."""


@dataclass(frozen=True)
class _SmallExample:
    graph: GraphRecord
    name: str
    device: str

    def falls_apart(self) -> bool:
        if not any(i.type.extents and i.type.extents[0] == self.name for i in self.graph.inputs):
            return False
        need_torch().manual_seed(0)
        try:
            return all(map(self._apart_as_together, _WHOLE))
        except (RuntimeError, ValueError, IndexError):  # the sizes of a small example do not fit together
            return False

    def _apart_as_together(self, whole: Whole) -> bool:
        torch = need_torch()
        given = {i.name: self._small(i, whole) for i in self.graph.inputs}
        together = propagate(self.graph, given)[0]
        apart = [propagate(self.graph, part)[0] for _, part in parts(self.graph, self.name, given, 2)]
        return all(
            _same(torch, pair.value, [a[n].value for a in apart])
            and _same(torch, pair.scale, [a[n].scale for a in apart])
            for n, pair in enumerate(together)
        )

    def _small(self, entry: GraphInput, whole: Whole) -> Any:
        torch, shape = need_torch(), entry.type.shape(self._sizes)
        kind = getattr(torch, entry.type.dtype)
        if kind.is_floating_point:
            return torch.randn(shape, device=self.device).to(kind)
        return whole(torch.ones(shape or (1,), dtype=kind, device=self.device)).reshape(shape)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        symbols = self.graph.symbols
        return {s.name: 2 * max(2, s.low) if s.name == self.name else max(s.low, min(s.example, 3)) for s in symbols}


def _same(torch: Any, whole: Any, pieces: list[Any]) -> bool:
    joined = torch.cat([p.expand(whole[: len(p)].shape) for p in pieces]).double()
    return joined.shape == whole.shape and bool(
        torch.allclose(joined, whole.double(), rtol=_FAR, atol=_FAR, equal_nan=True)
    )
