"""Inputs of a captured module, drawn on the device by torch: as tasks/modules/draws.py draws them on the host.

The numbers are others, their distributions are the same. On the host gigabytes would take seconds to draw and to send.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kernellab.graph.need_torch import need_torch
from kernellab.graph.record import GraphInput, GraphRecord, Seen
from kernellab.tasks.modules.draws import FEW, HEAVY, OFFSET, OWN, first_float
from kernellab.tasks.modules.uses import Uses


class DeviceDraws:
    def __init__(self, graph: GraphRecord, device: str) -> None:
        self._graph = graph
        self._uses = Uses(graph)
        self._device = device
        self._first = first_float(graph)

    def draw(self, dims: dict[str, int], seed: int, kind: str = OWN) -> list[Any]:
        """One tensor for each input, in the type that its buffer has."""
        torch = need_torch()
        dice = torch.Generator(self._device).manual_seed(seed)
        shapes = [entry.type.shape(dims) or (1,) for entry in self._graph.inputs]
        pairs = zip(self._graph.inputs, shapes, strict=True)
        return [self._one(_Dice(torch, dice, shape), entry, dims, kind) for entry, shape in pairs]

    def _one(self, dice: _Dice, entry: GraphInput, dims: dict[str, int], kind: str) -> Any:
        if not entry.type.is_float:
            return _whole(dice, entry, self._uses.below(entry.name, dims))
        if kind == OWN or entry.role != "input":
            values = _like(dice, entry)
        else:
            values = _KINDS[kind](dice, self._uses.terms(entry.name, dims) if entry.name == self._first else 0)
        return values.to(getattr(dice.torch, entry.type.dtype))


class _Dice:
    """Numbers of one shape, in float32."""

    def __init__(self, torch: Any, generator: Any, shape: tuple[int, ...]) -> None:
        self.torch, self._generator, self.shape = torch, generator, shape

    def uniform(self, low: float = 0.0, high: float = 1.0) -> Any:
        made = self.torch.empty(self.shape, device=self._generator.device)
        return made.uniform_(low, high, generator=self._generator)

    def normal(self, mean: float = 0.0, spread: float = 1.0) -> Any:
        made = self.torch.empty(self.shape, device=self._generator.device)
        return made.normal_(mean, spread, generator=self._generator)

    def integers(self, low: int, high: int, dtype: Any) -> Any:
        """Both ends among them."""
        made = self.torch.empty(self.shape, dtype=dtype, device=self._generator.device)
        return made.random_(low, high + 1, generator=self._generator)


def _whole(dice: _Dice, entry: GraphInput, below: int) -> Any:
    low, high = (int(entry.seen.low), int(entry.seen.high)) if entry.seen else (0, min(below, 8) - 1)
    if entry.type.dtype == "bool":
        low, high = 0, 1
    high = max(0, min(high if high > low else low + 1, below - 1))
    name = "uint8" if entry.type.dtype == "bool" else entry.type.dtype
    return dice.integers(min(low, high), high, getattr(dice.torch, name))


def _like(dice: _Dice, entry: GraphInput) -> Any:
    seen = entry.seen
    if seen is None:
        return _unseen(dice, entry)
    if seen.low == seen.high:
        return dice.uniform(0.5, 1.5) * seen.low if seen.low else dice.normal(0.0, 0.1)
    values = _between(dice, entry, seen)
    return values.mul_(dice.uniform() >= seen.zeros) if 0.02 < seen.zeros < 1 else values


def _between(dice: _Dice, entry: GraphInput, seen: Seen) -> Any:
    if seen.low >= 0 or entry.role != "input" or max(-seen.low, seen.high) <= 1:
        return dice.uniform(seen.low, seen.high)
    return dice.normal(seen.mean, (seen.high - seen.low) / 8).clamp_(seen.low, seen.high)


def _unseen(dice: _Dice, entry: GraphInput) -> Any:
    if entry.role == "input":
        return dice.normal()
    if len(dice.shape) < 2:
        return dice.uniform(0.5, 1.5)
    bound = 1 / math.sqrt(math.prod(dice.shape[1:]))
    return dice.uniform(-bound, bound)


def _sparse(dice: _Dice, terms: int) -> Any:
    return dice.normal().mul_(dice.uniform() < FEW / max(FEW, terms))


def _heavy(dice: _Dice, terms: int) -> Any:
    return dice.normal().div_(dice.uniform().clamp_(min=1e-4).pow_(HEAVY))


_KINDS: dict[str, Callable[[_Dice, int], Any]] = {
    "normal": lambda dice, terms: dice.normal(),
    "signed": lambda dice, terms: dice.uniform(-1.0, 1.0),
    "sparse": _sparse,
    "heavy": _heavy,
    "offset": lambda dice, terms: dice.normal(OFFSET),
}
