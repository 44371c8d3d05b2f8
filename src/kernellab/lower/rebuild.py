"""The same values with something changed throughout: names of tensors, axes, indices."""

from __future__ import annotations

from collections.abc import Mapping

from kernellab.lower.axes import Axis, Index, Looked, Quotient, Remainder, Term
from kernellab.lower.sizes import ONE
from kernellab.lower.values import (
    Apply,
    Guard,
    Load,
    Number,
    Place,
    Reduce,
    Value,
    apply,
    guard,
    load,
    place,
    reduce,
    walk,
)

Made = Mapping[Value, Value]


class Change:
    """Changes nothing; what differs is overridden. `made`: values that were rebuilt before."""

    def tensor(self, name: str) -> str:
        return name

    def axis(self, axis: Axis) -> Axis | None:
        """What stands in its place; None: it goes."""
        return axis

    def places(self, tensor: str, indices: tuple[Index, ...]) -> tuple[Index, ...]:
        return indices

    def reduced(self, how: str, axes: tuple[Axis, ...], body: Value) -> Value:
        return reduce(how, self.axes(axes), body)

    def axes(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(found for a in axes if (found := self.axis(a)) is not None)

    def index(self, index: Index, made: Made) -> Index:
        terms = ((self._term(t, made), f) for t, f in index.terms)
        return Index(tuple((t, f) for t, f in terms if t is not None), index.offset)

    def _term(self, term: Term, made: Made) -> Term | None:
        if isinstance(term, Axis):
            return self.axis(term)
        if isinstance(term, Looked):
            return Looked(made[term.value], term.extent)
        assert isinstance(term, Quotient | Remainder)
        return type(term)(self.index(term.of, made), term.by)


class Names(Change):
    """Other names for tensors."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def tensor(self, name: str) -> str:
        return self._names[name]


class Axes(Change):
    """Other axes in place of some."""

    def __init__(self, axes: Mapping[Axis, Axis]) -> None:
        self._axes = axes

    def axis(self, axis: Axis) -> Axis | None:
        return self._axes.get(axis, axis)


class Placed(Change):
    """An index in place of an axis."""

    def __init__(self, axis: Axis, spot: Index) -> None:
        self._axis, self._spot = axis, spot

    def index(self, index: Index, made: Made) -> Index:
        found = Index((), index.offset)
        for term, factor in index.terms:
            if term == self._axis:
                found = found + self._spot.times(factor)
            else:
                found = found + super().index(Index(((term, ONE),)), made).times(factor)
        return found


class Instead(Change):
    """Another value in place of a reduction."""

    def __init__(self, old: Reduce, new: Value) -> None:
        self._old, self._new = old, new

    def reduced(self, how: str, axes: tuple[Axis, ...], body: Value) -> Value:
        if (how, axes, body) == (self._old.how, self._old.axes, self._old.body):
            return self._new
        return super().reduced(how, axes, body)


def rebuilt(value: Value, change: Change) -> Value:
    made: dict[Value, Value] = {}
    for part in walk(value):
        made[part] = _changed(part, change, made)
    return made[value]


def _changed(value: Value, change: Change, made: Made) -> Value:
    if isinstance(value, Load):
        indices = tuple(change.index(i, made) for i in value.indices())
        return load(change.tensor(value.tensor), change.places(value.tensor, indices), value.kind)
    if isinstance(value, Place):
        return place(change.index(value.indices()[0], made))
    if isinstance(value, Apply):
        return apply(value.function, *(made[c] for c in value.children()))
    if isinstance(value, Reduce):
        return change.reduced(value.how, value.axes, made[value.body])
    if isinstance(value, Guard):
        bounds = tuple((change.index(i, made), e) for i, e in value.bounds)
        return guard(bounds, made[value.body], made[value.other])
    assert isinstance(value, Number)
    return value
