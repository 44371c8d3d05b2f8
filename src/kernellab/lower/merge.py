"""Axes that every tensor runs through as one become one: fewer loops, and longer ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from kernellab.lower.axes import Axis, Index, linear
from kernellab.lower.inline import Store, reductions_of, tensor_name
from kernellab.lower.rebuild import Axes, Change, rebuilt
from kernellab.lower.sizes import ONE, Size
from kernellab.lower.values import Reduce, walk

Shapes = Mapping[str, Sequence[Size]]


def flat(stores: Sequence[Store], shapes: Shapes) -> list[Store]:
    """Every element by its place in memory, and neighbouring axes merged where that changes no place."""
    found = [
        replace(s, index=(linear(s.index, shapes[tensor_name(s.tensor)]),), value=rebuilt(s.value, _Flat(shapes)))
        for s in stores
    ]
    while True:
        pair = next((p for p in _neighbours(found) if _together(found, *p)), None)
        if pair is None:
            return found
        change = _Joined(*pair)
        found = [
            replace(s, index=(change.index(s.index[0], {}),), value=rebuilt(s.value, change), axes=change.axes(s.axes))
            for s in found
        ]


class _Flat(Change):
    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes

    def places(self, tensor: str, indices: tuple[Index, ...]) -> tuple[Index, ...]:
        return (linear(indices, self._shapes[tensor]),)


class _Joined(Axes):
    def __init__(self, outer: Axis, inner: Axis) -> None:
        super().__init__({inner: Axis(inner.name, outer.extent * inner.extent)})
        self._outer = outer

    def axis(self, axis: Axis) -> Axis | None:
        return None if axis == self._outer else super().axis(axis)


def _neighbours(stores: Sequence[Store]) -> list[tuple[Axis, Axis]]:
    groups = [stores[0].axes]
    groups += [v.axes for v in reductions_of(stores)]
    return [pair for axes in groups for pair in pairwise(axes)]


def _together(stores: Sequence[Store], outer: Axis, inner: Axis) -> bool:
    """Whether the two stand in every index as the digits of one number."""
    for value in walk(*(s.value for s in stores)):
        if not all(_digits(i, outer, inner) for i in value.indices()):
            return False
        if isinstance(value, Reduce) and (outer in value.axes) != (inner in value.axes):
            return False
    return all(_digits(s.index[0], outer, inner) for s in stores)


def _digits(index: Index, outer: Axis, inner: Axis) -> bool:
    if outer not in index.axes and inner not in index.axes:
        return True
    factors = {t: f for t, f in index.terms if isinstance(t, Axis)}
    plain = all(isinstance(t, Axis) or not {outer, inner} & Index(((t, ONE),)).axes for t, _ in index.terms)
    return plain and inner in factors and factors.get(outer) == factors[inner] * inner.extent
