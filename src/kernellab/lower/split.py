"""Long reductions as two: parts of them first, each by a program of its own, then the parts together.

For results of few elements that each take many: losses, norms of everything, statistics. With one program an element most of
a GPU would stand idle. Reductions of a kernel are split together, so that what they read is read once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kernellab.lower.axes import Axis, Index, linear
from kernellab.lower.inline import Store, loads_of, reductions_of
from kernellab.lower.rebuild import Instead, Placed, rebuilt
from kernellab.lower.rows import rows_of
from kernellab.lower.scans import scan_of
from kernellab.lower.sizes import ONE, Size
from kernellab.lower.tensors import Tensor
from kernellab.lower.values import NEUTRAL, guard, load, number, reduce, reductions_in

PARTS = Size.of("PARTS")
_ALIGNED = 1024
"""Parts begin at multiples of this, so that vectors can be read."""


@dataclass(frozen=True)
class Halves:
    """What makes the parts, what joins them, and the tensors between."""

    made: list[Store]
    joined: list[Store]
    between: list[Tensor]


def can_split(stores: Sequence[Store]) -> bool:
    """Reductions of floats over the same, none of which needs another, to one element a row, whatever becomes of it."""
    rows = rows_of(stores)
    if rows is None or scan_of(stores) is not None or any(store.axes != stores[0].axes for store in stores):
        return False
    reductions = reductions_of(rows.stores)
    if {*rows.along} & {*stores[0].axes} or len({v.axes for v in reductions}) != 1:
        return False
    return all(v.kind == "float" and not reductions_in(v.body) for v in reductions)


def split(stores: Sequence[Store], name: str, sizes: Mapping[str, int]) -> Halves:
    """Parts are of the longest axis, the first of equals. They lie one behind the other, each with all rows."""
    rows = rows_of(stores)
    assert rows is not None
    wholes = reductions_of(rows.stores)
    axes = wholes[0].axes
    along = max(axes, key=lambda a: (a.extent.at(sizes), -axes.index(a)))
    each, parts = (_ALIGNED, f"{_ALIGNED} * PARTS") if _is_line(along, rows.stores) else (1, "PARTS")
    chunk = Size.of(f"({along.extent.text} + {parts} - 1) // ({parts})") * Size.of(each)
    part, inner = Axis("part", PARTS), Axis("inner", chunk)
    spot = Index.of(part).times(chunk) + Index.of(inner)
    lines = (part, *stores[0].axes)
    where = linear([Index.of(a) for a in lines], [a.extent for a in lines])
    found = Halves([], [*rows.stores], [])
    for n, whole in enumerate(wholes):
        own = name if n == 0 else f"{name}_{n}"
        body = guard(((spot, along.extent),), rebuilt(whole.body, Placed(along, spot)), number(NEUTRAL[whole.how]))
        short = reduce(whole.how, tuple(inner if a == along else a for a in axes), body)
        found.made.append(Store((own, 0), (where,), short, lines))
        found.between.append(Tensor(own, "float32", tuple(a.extent for a in lines)))
        change = Instead(whole, reduce(whole.how, (part,), load(own, (where,), "float")))
        found.joined[:] = [replace(s, value=rebuilt(s.value, change)) for s in found.joined]
    return found


def _is_line(along: Axis, stores: Sequence[Store]) -> bool:
    """Whether elements along this axis lie side by side in what is read, as far as it has most elements."""
    loads = [v for v in loads_of(stores) if along in v.free]
    most = max((len(v.free) for v in loads), default=0)
    return any(dict(v.indices()[-1].terms).get(along) == ONE for v in loads if len(v.free) == most)
