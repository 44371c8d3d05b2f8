"""Inputs with known answers that never leave the device: drawn there, judged there in float64, kept as intervals there.

Covered: the tensors belong to the laboratory's process, and no runner maps its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from kernellab.graph.need_torch import need_torch
from kernellab.graph.record import GraphRecord
from kernellab.graph.scale import Judged
from kernellab.tasks.expected import Bounds, Known
from kernellab.tasks.modules.device_draws import DeviceDraws
from kernellab.tasks.modules.intervals import bounds, owed
from kernellab.tasks.modules.slices import parts, repeating_size

Judge = Callable[[Mapping[str, Any]], list[Judged]]
_COUNTS = (8, 64)


class KnownAnswers:
    """`judge` takes the inputs by name, as `named` gives them."""

    def __init__(
        self, graph: GraphRecord, device: str, judge: Judge, named: Callable[[list[Any]], dict[str, Any]]
    ) -> None:
        self._graph = graph
        self._draws = DeviceDraws(graph, device)
        self._judge, self._named = judge, named

    def draw(self, dims: dict[str, int], seed: int) -> list[Any]:
        """New inputs whose answers nobody knows."""
        return self._draws.draw(dims, seed)

    def known(self, dims: dict[str, int], seed: int) -> Known | None:
        """None where they do not fit into the device's memory, not even in slices."""
        inputs = self.draw(dims, seed)
        given = self._named(inputs)
        for attempt in (self._whole, *(_sliced(self, count) for count in _COUNTS)):
            try:
                found = attempt(given)
            except need_torch().OutOfMemoryError:
                found = None
            if found is not None:
                return Known(inputs, found)
            _forget()
        return None

    @cached_property
    def _repeating(self) -> str:
        return repeating_size(self._graph)

    def _whole(self, given: Mapping[str, Any]) -> list[Bounds] | None:
        return [_bounds(judged, judged.budget_ulp) for judged in self._judge(given)]

    def in_slices(self, given: Mapping[str, Any], count: int) -> list[Bounds] | None:
        """Twice through: the budget is that of the worst slice."""
        if not self._repeating:
            return None
        budgets = [max(column) for column in zip(*self._budgets(given, count), strict=True)]
        pieces = [
            [_bounds(judged, budget) for judged, budget in zip(self._judge(part), budgets, strict=True)]
            for part in parts(self._graph, self._repeating, given, count)
        ]
        return [_joined(column) for column in zip(*pieces, strict=True)]

    def _budgets(self, given: Mapping[str, Any], count: int) -> Iterator[list[float]]:
        for part in parts(self._graph, self._repeating, given, count):
            yield [judged.budget_ulp for judged in self._judge(part)]


def _sliced(answers: KnownAnswers, count: int) -> Callable[[Mapping[str, Any]], list[Bounds] | None]:
    return lambda given: answers.in_slices(given, count)


def _bounds(judged: Judged, budget: float) -> Bounds:
    torch, value = need_torch(), judged.pair.value
    if judged.exact:
        exact = value.to(torch.uint8) if value.dtype == torch.bool else value
        return Bounds(exact.contiguous(), exact.contiguous(), 0.0)
    low, high = bounds(value, owed(judged), budget, judged.dtype)
    return Bounds(low.contiguous(), high.contiguous(), budget)


def _joined(pieces: tuple[Bounds, ...]) -> Bounds:
    torch = need_torch()
    low, high = (torch.cat([getattr(piece, end) for piece in pieces]) for end in ("low", "high"))
    return Bounds(low, high, pieces[0].budget_ulp)


def _forget() -> None:
    torch = need_torch()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
