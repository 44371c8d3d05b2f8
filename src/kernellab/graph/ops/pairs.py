"""A value and its scale: how far the value may move, to first order, when every input and intermediate is off by one ULP.

Errors are counted in ULP of the scale. For integers and booleans the scale is how far off another rounding could be that
decided otherwise: 0 where nothing is open, 1 for a comparison that is, infinite where no rule says how far. `exact` says
that nothing was rounded on the way: such values decide comparisons. Everything here works on torch tensors in float64 but
imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FLOOR_ULP = 4.0
MOST_TERMS_ULP = 1024.0

Tensor = Any


def in_memory(values: Tensor) -> Tensor:
    """The same elements in the order in which they lie, for whoever does not ask about their order: several times as fast
    where they are turned."""
    turned = values.permute(sorted(range(values.dim()), key=lambda dim: -values.stride(dim)))
    return turned.reshape(-1) if turned.is_contiguous() else values


@dataclass(frozen=True)
class Choice:
    """Which indices an arg operator may return: those whose value is within `reach` of the winner's.

    `distinct`: none may come twice.
    """

    source: Pair
    dim: int
    best: Tensor
    keepdim: bool
    reach: Tensor
    distinct: bool = False


@dataclass(frozen=True)
class Pair:
    """`terms`: how many terms the largest sum on the way to this value has. `whole`: a float that was rounded to a whole
    number: another rounding gives the same one or another whole number, and nothing between. `bare`: finite floats, exact,
    whose scale is their magnitude."""

    value: Tensor
    scale: Tensor
    terms: float = 0.0
    exact: bool = False
    choice: Choice | None = None
    whole: bool = False
    bare: bool = False

    @property
    def is_float(self) -> bool:
        return bool(self.value.is_floating_point())

    @property
    def budget(self) -> float:
        """ULP of the scale by which an honest value may be off."""
        return budget(self.terms)


def budget(terms: float) -> float:
    """Sums in any sensible order lose about the square root of the number of their terms, in ULP."""
    return FLOOR_ULP + min(math.sqrt(terms), MOST_TERMS_ULP)


@dataclass(frozen=True)
class Scaled:
    """What a rule answers: a scale for each result, and the terms of the sums that they are, for all or for each."""

    scales: tuple[Tensor | None, ...]
    terms: float | tuple[float, ...] = 0.0
    exact: bool = False
    choices: dict[int, Choice] | None = None
    whole: bool = False

    def terms_of(self, result: int) -> float:
        return self.terms[result] if isinstance(self.terms, tuple) else self.terms


@dataclass(frozen=True)
class Call:
    """One node being scaled: its arguments with a Pair for every tensor, its results in float64, and how to run it again."""

    op: str
    args: list[Any]
    kwargs: dict[str, Any]
    results: tuple[Tensor | None, ...]
    eps: float
    torch: Any
    run: Callable[[list[Any], dict[str, Any]], Any]

    @property
    def result(self) -> Tensor:
        return self.results[0]

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        return self.args[position] if position < len(self.args) else self.kwargs.get(name, default)

    def pairs(self) -> list[Pair]:
        return list(_pairs([*self.args, *self.kwargs.values()]))

    def floats(self) -> list[Pair]:
        return [p for p in self.pairs() if p.is_float]

    @property
    def whole(self) -> bool:
        """Whether all that goes in are whole numbers, in whatever type."""
        numbers = [a for a in (*self.args, *self.kwargs.values()) if isinstance(a, int | float)]
        return all(p.whole or not p.is_float for p in self.pairs()) and all(float(n).is_integer() for n in numbers)

    def apply(self, pick: Callable[[Pair], Tensor]) -> tuple[Tensor, ...]:
        """The same operator on other values in the place of its float tensors; integers and booleans stay."""
        args = _mapped(self.args, pick)
        kwargs = {k: _mapped(v, pick) for k, v in self.kwargs.items()}
        answer = self.run(args, kwargs)
        return tuple(answer) if isinstance(answer, list | tuple) else (answer,)

    def reach(self, pair: Pair) -> Tensor:
        """How far an honest value may be from this one, in absolute terms; zero where nothing was rounded."""
        if not pair.is_float:
            return pair.scale
        return pair.scale * 0 if pair.exact else pair.budget * self.eps * pair.scale


def _pairs(values: list[Any]) -> Any:
    for value in values:
        if isinstance(value, Pair):
            yield value
        elif isinstance(value, list | tuple):
            yield from _pairs(list(value))


def _mapped(value: Any, pick: Callable[[Pair], Tensor]) -> Any:
    if isinstance(value, Pair):
        return pick(value) if value.is_float else value.value
    if isinstance(value, list | tuple):
        return [_mapped(v, pick) for v in value]
    return value


def size(value: Any) -> Any:
    """The magnitude of a pair or a number."""
    if not isinstance(value, Pair):
        return abs(value)
    return value.value.abs() if value.is_float else value.value.double().abs()


def present(values: Tensor) -> Tensor:
    """1 for each element that is not zero, in float64."""
    return values.clone().ne_(0) if values.is_floating_point() else (values != 0).double()


def scale_of(value: Any) -> Any:
    """The scale of a pair; a number written in the code may be off by its own rounding."""
    return value.scale if isinstance(value, Pair) else abs(value)


def value_of(value: Any) -> Any:
    return value.value if isinstance(value, Pair) else value
