"""Products of matrices, as loops can share them: sums of what rows have times what columns have.

Covered: kernels all of whose reductions are such sums over the same row axis and the last axis; convolutions are some, with
channels for rows and places for columns. Not covered: factors that depend on both, and two long axes to sum over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce as folded

from kernellab.lower.axes import Axis
from kernellab.lower.inline import Store, reductions_of
from kernellab.lower.scans import scan_of
from kernellab.lower.values import Apply, Reduce, Value, apply, walk

STEPS = 256
"""Terms of a sum that a panel holds, and that are added one after the other."""


@dataclass(frozen=True)
class Product:
    """A sum over `axes`, the long one first, of `left`, which the row has, times `right`, which the column has."""

    whole: Reduce
    axes: tuple[Axis, ...]
    left: Value
    right: Value

    @property
    def inner(self) -> int:
        """Terms for each step of the long axis."""
        return _terms(self.axes[1:])


@dataclass(frozen=True)
class Tile:
    row: Axis
    lane: Axis
    products: tuple[Product, ...]


def tile_of(stores: Sequence[Store]) -> Tile | None:
    """Of the rows that are possible the innermost: what they read lies closest together."""
    axes = stores[0].axes
    sums = reductions_of(stores)
    if len(axes) < 2 or not sums or scan_of(stores):
        return None
    lane = axes[-1]
    for row in reversed(axes[:-1]):
        products = [_product(v, row, lane) for v in sums]
        if all(products):
            return Tile(row, lane, tuple(p for p in products if p))
    return None


def _product(value: Reduce, row: Axis, lane: Axis) -> Product | None:
    axes = _long_first(value.axes)
    if value.how != "sum" or value.kind != "float" or axes is None:
        return None
    factors = list(_factors(value.body))
    if any(isinstance(v, Reduce) for v in walk(value.body)) or any(row in f.free and lane in f.free for f in factors):
        return None
    left = [f for f in factors if row in f.free]
    right = [f for f in factors if row not in f.free]
    if not left or not any(lane in f.free for f in right):
        return None
    return Product(value, axes, _times(left), _times(right))


def _times(factors: Sequence[Value]) -> Value:
    return folded(lambda a, b: apply("mul", a, b), factors)


def _factors(value: Value) -> Iterator[Value]:
    if isinstance(value, Apply) and value.function == "mul":
        for child in value.children():
            yield from _factors(child)
    else:
        yield value


def _long_first(axes: Sequence[Axis]) -> tuple[Axis, ...] | None:
    """None where more than one is long, or might be."""
    longest = max(axes, key=lambda a: float("inf") if a.extent.number is None else a.extent.number)
    others = tuple(a for a in axes if a is not longest)
    if any(a.extent.number is None for a in others):
        return None
    return (longest, *others) if _terms(others) <= STEPS else None


def _terms(axes: Sequence[Axis]) -> int:
    return math.prod(a.extent.number or 1 for a in axes)
