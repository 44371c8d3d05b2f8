"""One long reduction as two: parts of it first, each by a program of its own, then the parts together.

For results of few elements that each take many: losses, norms of everything, statistics. With one program an element most of
a GPU would stand idle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernellab.lower.axes import Axis, Index
from kernellab.lower.inline import Store, reductions_of
from kernellab.lower.rebuild import Instead, Placed, rebuilt
from kernellab.lower.rows import rows_of
from kernellab.lower.scans import scan_of
from kernellab.lower.sizes import Size, product_of
from kernellab.lower.tensors import Tensor
from kernellab.lower.values import NEUTRAL, guard, load, number, reduce

PARTS = Size.of("PARTS")
_ALIGNED = 1024
"""Parts begin at multiples of this, so that vectors can be read."""


def can_split(stores: Sequence[Store]) -> bool:
    """One reduction of floats, to one element a row, whatever becomes of it."""
    rows = rows_of(stores)
    reductions = reductions_of(stores)
    alike = all(store.axes == stores[0].axes for store in stores)
    if rows is None or scan_of(stores) is not None or not alike or len(reductions) != 1:
        return False
    return not {*rows.along} & {*stores[0].axes} and reductions.pop().kind == "float"


def split(stores: Sequence[Store], name: str, sizes: Mapping[str, int]) -> tuple[Store, list[Store], Tensor]:
    """What makes the parts, what joins them, and the tensor between. Parts are of the longest axis, the first of equals."""
    (whole,), beside = reductions_of(stores), stores[0].axes
    along = max(whole.axes, key=lambda a: (a.extent.at(sizes), -whole.axes.index(a)))
    each, parts = (_ALIGNED, f"{_ALIGNED} * PARTS") if along == whole.axes[-1] else (1, "PARTS")
    chunk = Size.of(f"({along.extent.text} + {parts} - 1) // ({parts})") * Size.of(each)
    part, inner = Axis("part", PARTS), Axis("inner", chunk)
    spot = Index.of(part).times(chunk) + Index.of(inner)
    body = rebuilt(whole.body, Placed(along, spot))
    body = guard(((spot, along.extent),), body, number(NEUTRAL[whole.how]))
    row = Index()
    for axis, stride in zip(beside, _strides(beside), strict=True):
        row = row + Index.of(axis).times(stride)
    where = row.times(PARTS) + Index.of(part)
    tensor = Tensor(name, "float32", (*(a.extent for a in beside), PARTS))
    axes = tuple(inner if a == along else a for a in whole.axes)
    made = Store((name, 0), (where,), reduce(whole.how, axes, body), (*beside, part))
    joined = reduce(whole.how, (part,), load(name, (where,), "float"))
    return made, [replace(s, value=rebuilt(s.value, Instead(whole, joined))) for s in stores], tensor


def _strides(axes: Sequence[Axis]) -> list[Size]:
    return [product_of(a.extent for a in axes[i + 1 :]) for i in range(len(axes))]
