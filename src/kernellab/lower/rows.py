"""Kernels whose reductions all run along one row: some axes choose the row, the others lie along it.

Softmax, norms, sums: every reduction depends on the row alone, and runs over axes as long as those along it. Then one
program can have a row, read it once and do everything with it. Windows (a pool whose mean is wanted) are no rows: each
element of a row reduces its own by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernellab.lower.axes import Axis
from kernellab.lower.inline import Store, reductions_of
from kernellab.lower.online import tamed
from kernellab.lower.rebuild import Axes, Change, rebuilt
from kernellab.lower.sizes import product_of
from kernellab.lower.values import Reduce, Value, reduce

SHORT = 64
"""Elements that one thread reduces by itself."""


@dataclass(frozen=True)
class Rows:
    """`stores` with every reduction over the axes `along` themselves. Where `along` are no axes of the stores, each row
    makes one element."""

    chosen: tuple[Axis, ...]
    along: tuple[Axis, ...]
    stores: tuple[Store, ...]


def is_short(axes: Sequence[Axis]) -> bool:
    """Whether they have few elements at all sizes, as windows have."""
    length = product_of(a.extent for a in axes).number
    return length is not None and length <= SHORT


def windows_of(stores: Sequence[Store]) -> list[Reduce]:
    """What is short where something else is long."""
    reductions = reductions_of(stores)
    short = [v for v in reductions if is_short(v.axes)]
    return short if len(short) < len(reductions) else []


def rows_of(stores: Sequence[Store]) -> Rows | None:
    windows = set(windows_of(stores))
    reductions = [v for v in reductions_of(stores) if v not in windows]
    axes = stores[0].axes
    inside = {a for v in reductions for a in v.axes}
    if not reductions or any(a in inside for v in reductions for a in v.free):
        return None
    chosen = tuple(a for a in axes if any(a in v.free for v in reductions))
    along = tuple(a for a in axes if a not in chosen) or reductions[0].axes
    wanted = [a.extent for a in along]
    if any([a.extent for a in v.axes] != wanted for v in reductions):
        return None
    change = _Along(along, {v.axes for v in windows})
    return Rows(chosen, along, tuple(replace(s, value=rebuilt(s.value, change)) for s in stores))


_SPREAD = range(16_384, 132 * 32_768)
"""Elements of a row that several programs share: fewer fit one of them, more do not fit all that run at a time."""


def can_spread(stores: Sequence[Store], rows: Rows, length: int) -> bool:
    """Whether several programs may share a row of so many elements: what they tell each other are floats, and the row is
    needed again behind its reductions. Else one look at it is enough, and needs nobody to wait."""
    if windows_of(stores):
        return False
    again = any(a in s.axes for s in stores for a in rows.along)
    return length in _SPREAD and again and all(v.kind == "float" for v in reductions_of(stores))


class _Along(Change):
    """Every reduction over the same axes, but for windows."""

    def __init__(self, along: tuple[Axis, ...], windows: set[tuple[Axis, ...]]) -> None:
        self._along, self._windows = along, windows

    def reduced(self, how: str, axes: tuple[Axis, ...], body: Value) -> Value:
        if axes in self._windows:
            return reduce(how, axes, body)
        return tamed(reduce(how, self._along, rebuilt(body, Axes(dict(zip(axes, self._along, strict=True))))))
