"""Running sums, products and extremes: each element is made from the one before it.

A rule writes such an element as a reduction over everything up to its place. That is right and takes a square of the
work; a form that goes along the axis in order recognises it (`scan_of`) and keeps what it has so far.
Of a result that is read the other way round, the order is the other way round too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernellab.lower.axes import Axis, Index
from kernellab.lower.inline import Store, reductions_of
from kernellab.lower.rebuild import Placed, rebuilt
from kernellab.lower.sizes import ONE, Size
from kernellab.lower.values import NEUTRAL, Apply, Number, Place, Reduce, Value


@dataclass(frozen=True)
class Scan:
    """`whole` is the reduction as it stands; `body` is what comes in at a place of the axis `along`, a store's own."""

    whole: Reduce
    along: Axis
    body: Value
    backwards: bool


def scan_of(stores: Sequence[Store]) -> Scan | None:
    """The one scan of a kernel that has one, and no other reduction that depends on its axis."""
    reductions = reductions_of(stores)
    found = [scan for v in reductions if (scan := scan_in(v)) is not None and scan.along in stores[0].axes]
    if len(found) != 1 or any(found[0].along in v.free for v in reductions if v is not found[0].whole):
        return None
    return found[0]


def scan_in(value: Reduce) -> Scan | None:
    """Of a sum over r of (x at r where r <= i, else nothing): the axis i, and x at i."""
    body = value.body
    if len(value.axes) != 1 or not (isinstance(body, Apply) and body.function == "where"):
        return None
    condition, inside, outside = body.children()
    if not (isinstance(condition, Apply) and condition.function == "le"):
        return None
    if not (isinstance(outside, Number) and outside.value == NEUTRAL.get(value.how)):
        return None
    first, last = condition.children()
    if not (isinstance(first, Place) and isinstance(last, Place)) or first.indices()[0] != Index.of(value.axes[0]):
        return None
    spot = last.indices()[0]
    along = _axis(spot)
    if along is None or along in inside.free or along.extent != value.axes[0].extent:
        return None
    backwards = spot != Index.of(along)
    return Scan(value, along, rebuilt(inside, Placed(value.axes[0], spot)), backwards)


def _axis(index: Index) -> Axis | None:
    """The axis that an index counts, from its beginning or from its end."""
    axis = index.terms[0][0] if len(index.terms) == 1 else None
    if not isinstance(axis, Axis):
        return None
    reverse = Index.of(axis).times(Size.of(-1)).shifted(axis.extent - ONE)
    return axis if index in (Index.of(axis), reverse) else None
