"""Inputs with known answers that never leave the device: drawn there, judged there in float64, kept as intervals there.

Covered: the tensors belong to the laboratory's process, and no runner maps its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

from kernellab.graph.need_torch import need_torch
from kernellab.graph.record import GraphRecord
from kernellab.graph.scale import Judged
from kernellab.tasks.expected import Bounds, Known
from kernellab.tasks.modules.device_case import ModuleCase
from kernellab.tasks.modules.device_draws import DeviceDraws
from kernellab.tasks.modules.draws import OWN
from kernellab.tasks.modules.intervals import bounds, owed
from kernellab.tasks.modules.slices import COUNTS, Fitting, judged_in, repeating_size


class KnownAnswers:
    """`judge` takes the inputs by name, as `named` gives them, and whether elements are looked at alone: in a pool they are,
    as intervals."""

    def __init__(
        self,
        graph: GraphRecord,
        device: str,
        judge: Callable[..., list[Judged]],
        named: Callable[[list[Any]], dict[str, Any]],
    ) -> None:
        self._graph, self._device = graph, device
        self._draws = DeviceDraws(graph, device)
        self._judge, self._named = judge, named
        self._fitting, self._bounding = Fitting(), Fitting()

    def draw(self, dims: dict[str, int], seed: int, kind: str = OWN) -> list[Any]:
        """New inputs whose answers nobody knows."""
        return self._draws.draw(dims, seed, kind)

    def known(self, dims: dict[str, int], seed: int) -> Known | None:
        """None where they do not fit into the device's memory, not even in slices."""
        inputs = self.draw(dims, seed)
        given, elements = self._named(inputs), sum(t.numel() for t in inputs)
        for count in self._bounding.counts(elements, self.counts):
            try:
                return Known(inputs, self._bounded(given, count))
            except need_torch().OutOfMemoryError:
                _forget()
                self._bounding.took(elements, count + 1)
        return None

    def case(self, dims: dict[str, int], kind: str, seed: int) -> ModuleCase:
        inputs = self.draw(dims, seed, kind)
        given = self._named(inputs)
        judged = partial(judged_in, self._graph, self._repeating, self._judge, given)
        return ModuleCase(inputs, judged, self.counts, self._fitting)

    @property
    def counts(self) -> tuple[int, ...]:
        """Into how many slices the graph can be cut."""
        return COUNTS if self._repeating else COUNTS[:1]

    @cached_property
    def _repeating(self) -> str:
        return repeating_size(self._graph, self._device)

    def _bounded(self, given: Mapping[str, Any], count: int) -> list[Bounds]:
        slices = judged_in(self._graph, self._repeating, partial(self._judge, alone=True), given, count)
        pieces = [[_bounds(judged) for judged in found] for _, found in slices]
        return [_joined(column) for column in zip(*pieces, strict=True)]


def _bounds(judged: Judged) -> Bounds:
    torch, value = need_torch(), judged.pair.value
    if judged.exact:
        exact = value.to(torch.uint8) if value.dtype == torch.bool else value
        return Bounds(exact.contiguous(), exact.contiguous(), 0.0)
    low, high = bounds(value, owed(judged), judged.budget_ulp, judged.dtype)
    return Bounds(low.contiguous(), high.contiguous(), judged.budget_ulp)


def _joined(pieces: tuple[Bounds, ...]) -> Bounds:
    if len(pieces) == 1:
        return pieces[0]
    torch = need_torch()
    low, high = (torch.cat([getattr(piece, end) for piece in pieces]) for end in ("low", "high"))
    return Bounds(low, high, pieces[0].budget_ulp)


def _forget() -> None:
    torch = need_torch()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
