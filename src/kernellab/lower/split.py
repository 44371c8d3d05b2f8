"""One long reduction as two: parts of it first, each by a program of its own, then the parts together.

For results of few elements that each take many: losses, norms of everything, statistics. With one program an element most of
a GPU would stand idle.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """One reduction of floats over one axis, to one element a row."""
    rows = rows_of(stores)
    reductions = reductions_of(stores)
    if rows is None or scan_of(stores) is not None or len(stores) != 1 or len(reductions) != 1 or len(rows.along) != 1:
        return False
    return rows.along[0] not in stores[0].axes and reductions.pop().kind == "float"


def split(store: Store, name: str) -> tuple[Store, Store, Tensor]:
    """What makes the parts, what joins them, and the tensor between."""
    (whole,) = reductions_of([store])
    along = whole.axes[0]
    chunk = Size.of(f"({along.extent.text} + {_ALIGNED} * PARTS - 1) // ({_ALIGNED} * PARTS)") * Size.of(_ALIGNED)
    part, inner = Axis("part", PARTS), Axis("inner", chunk)
    spot = Index.of(part).times(chunk) + Index.of(inner)
    body = rebuilt(whole.body, Placed(along, spot))
    body = guard(((spot, along.extent),), body, number(NEUTRAL[whole.how]))
    row = Index()
    for axis, stride in zip(store.axes, _strides(store.axes), strict=True):
        row = row + Index.of(axis).times(stride)
    where = row.times(PARTS) + Index.of(part)
    tensor = Tensor(name, "float32", (*(a.extent for a in store.axes), PARTS))
    made = Store((name, 0), (where,), reduce(whole.how, (inner,), body), (*store.axes, part))
    joined = reduce(whole.how, (part,), load(name, (where,), "float"))
    return made, replace(store, value=rebuilt(store.value, Instead(whole, joined))), tensor


def _strides(axes: Sequence[Axis]) -> list[Size]:
    return [product_of(a.extent for a in axes[i + 1 :]) for i in range(len(axes))]
