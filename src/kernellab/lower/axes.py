"""Axes of loops and indices over them: sums of axes times sizes, with rounded quotients and remainders where a reshape
cuts through an axis.

A reshape is undone by digits: an index in row-major order, taken apart by the sizes of the other shape. Where a digit
ends inside an axis, the axis is split in two (`Refine`), if its extent allows; else a quotient and a remainder remain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernellab.lower.sizes import ONE, ZERO, Size, product_of


@dataclass(frozen=True)
class Axis:
    """`name` is unique within a kernel."""

    name: str
    extent: Size


@dataclass(frozen=True)
class Quotient:
    """What is left of an index divided by a size, rounded down."""

    of: Index
    by: Size


@dataclass(frozen=True)
class Remainder:
    of: Index
    by: Size


@dataclass(frozen=True)
class Looked:
    """An index that is a value: read from a tensor of indices. `extent`: it is between 0 and this."""

    value: Any
    extent: Size


Term = Axis | Quotient | Remainder | Looked


class Refine(Exception):
    """An axis must become two, the second so long."""

    def __init__(self, axis: Axis, inner: Size) -> None:
        super().__init__(axis.name)
        self.axis, self.inner = axis, inner


@dataclass(frozen=True)
class Index:
    """A sum of terms times sizes, and a size more. Terms in the order of their size, the largest first."""

    terms: tuple[tuple[Term, Size], ...] = ()
    offset: Size = ZERO

    @staticmethod
    def of(value: Term | Size | int) -> Index:
        if isinstance(value, Axis | Quotient | Remainder | Looked):
            return Index(((value, ONE),)) if _extent(value) != ONE else Index()
        return Index((), Size.of(value))

    def __add__(self, other: Index) -> Index:
        factors: dict[Term, Size] = dict(self.terms)
        for term, factor in other.terms:
            factors[term] = factors.get(term, ZERO) + factor
        return Index(tuple((t, f) for t, f in factors.items() if f != ZERO), self.offset + other.offset)

    def times(self, size: Size) -> Index:
        if size == ZERO:
            return Index()
        return Index(tuple((t, f * size) for t, f in self.terms), self.offset * size)

    def shifted(self, by: Size) -> Index:
        return Index(self.terms, self.offset + by)

    @property
    def axes(self) -> set[Axis]:
        return {axis for term, _ in self.terms for axis in axes_of(term)}

    def most(self) -> Size | None:
        """The largest value it can have; None where that is not known."""
        return self._furthest(up=True)

    def least(self) -> Size | None:
        return self._furthest(up=False)

    def _furthest(self, up: bool) -> Size | None:
        whole = self.offset
        for term, factor in self.terms:
            positive = factor.at_least(ONE)
            if (not positive and not (-factor).at_least(ONE)) or not _known(term):
                return None
            if positive == up:
                whole = whole + factor * (_extent(term) - ONE)
        return whole

    def inside(self, extent: Size) -> bool:
        """Whether it is known to lie between 0 and the extent."""
        least, most = self.least(), self.most()
        return least is not None and most is not None and least.at_least(ZERO) and (extent - ONE).at_least(most)


def axes_of(term: Term) -> set[Axis]:
    if isinstance(term, Axis):
        return {term}
    if isinstance(term, Looked):
        return set(term.value.free)
    return term.of.axes


def _known(term: Term) -> bool:
    """Whether it lies between 0 and its extent. What is left of a negative number is not the same in all languages."""
    if isinstance(term, Axis | Looked):
        return True
    least = term.of.least()
    return least is not None and least.at_least(ZERO)


def _extent(term: Term) -> Size:
    if isinstance(term, Axis | Looked):
        return term.extent
    if isinstance(term, Remainder):
        return term.by
    most = term.of.most()
    whole = None if most is None else (most + ONE).over(term.by)
    return whole if whole is not None else Size({("?",): 1})


def strides(extents: Sequence[Size]) -> list[Size]:
    """In row-major order."""
    return [product_of(extents[i + 1 :]) for i in range(len(extents))]


def linear(indices: Sequence[Index], extents: Sequence[Size]) -> Index:
    whole = Index()
    for index, stride in zip(indices, strides(extents), strict=True):
        whole = whole + index.times(stride)
    return whole


def digits(whole: Index, extents: Sequence[Size]) -> tuple[Index, ...]:
    """The indices in a shape of an index in row-major order. Raises Refine where an axis should be split for it."""
    found: list[Index] = []
    for extent in reversed(extents[1:]):
        whole, digit = _divided(whole, extent)
        found.append(digit)
    return (*([whole] if extents else []), *reversed(found))


def _divided(whole: Index, by: Size) -> tuple[Index, Index]:
    """Quotient and remainder."""
    if by == ONE:
        return whole, Index()
    above, below = Index(), Index()
    for term, factor in whole.terms:
        quotient = factor.over(by)
        part = Index(((term, factor if quotient is None else quotient),))
        above, below = (above, below + part) if quotient is None else (above + part, below)
    offset = whole.offset.over(by)
    above, below = (above.shifted(offset), below) if offset is not None else (above, below.shifted(whole.offset))
    if below.inside(by):
        return above, below
    for term, factor in below.terms:
        inner = by.over(factor)
        if isinstance(term, Axis) and inner is not None and term.extent.over(inner) not in (None, ONE):
            raise Refine(term, inner)
    return above + Index.of(Quotient(below, by)), Index.of(Remainder(below, by))


def terms_inside(index: Index) -> Iterator[Term]:
    for term, _ in index.terms:
        yield term
        if isinstance(term, Quotient | Remainder):
            yield from terms_inside(term.of)


def points(axes: Sequence[Axis] | frozenset[Axis], sizes: Mapping[str, int]) -> int:
    return math.prod(a.extent.at(sizes) for a in axes)
