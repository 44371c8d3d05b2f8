"""Elements that are sent somewhere and added up there.

A rule writes such a sum from the place's side: of all elements, those that were sent here. That is right and takes as many
times the work as there are places; a form that goes over the elements once recognises it (`send_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernellab.lower.axes import Axis, Index
from kernellab.lower.inline import Store
from kernellab.lower.values import Apply, Bound, Guard, Number, Place, Reduce, Value, number

_CASTS = ("int", "float")


@dataclass(frozen=True)
class Send:
    """`whole`: the sum as it stands. Each `body` of it goes to `spot` along the store's axis `along`, where it is inside
    `bounds`. `before`: what is in a place when nothing has come yet."""

    whole: Reduce
    along: Axis
    spot: Value
    body: Value
    bounds: tuple[Bound, ...]
    before: Value


def send_of(stores: Sequence[Store]) -> Send | None:
    """Of a kernel that makes one tensor: what was there plus all that was sent to it."""
    if len(stores) != 1:
        return None
    before, whole = _parts(_uncast(stores[0].value))
    if not isinstance(whole, Reduce) or whole.how != "sum":
        return None
    bounds, body = (whole.body.bounds, whole.body.body) if isinstance(whole.body, Guard) else ((), whole.body)
    if bounds and not (isinstance(whole.body, Guard) and _nothing(whole.body.other)):
        return None
    if not (isinstance(body, Apply) and body.function == "where"):
        return None
    hit, inside, outside = body.children()
    if not (isinstance(hit, Apply) and hit.function == "eq" and _nothing(outside)):
        return None
    spot, here = hit.children()
    along = next((a for a in stores[0].axes if isinstance(here, Place) and here.indices()[0] == Index.of(a)), None)
    if along is None or along in spot.free | inside.free or any(along in i.axes for i, _ in bounds):
        return None
    return Send(whole, along, spot, inside, bounds, before)


def _parts(value: Value) -> tuple[Value, Value]:
    """What was there, and the sum."""
    if isinstance(value, Apply) and value.function == "add":
        before, whole = value.children()
        return before, _uncast(whole)
    return number(0), value


def _uncast(value: Value) -> Value:
    """A store converts by itself."""
    while isinstance(value, Apply) and value.function in _CASTS:
        (value,) = value.children()
    return value


def _nothing(value: Value) -> bool:
    value = _uncast(value)
    return isinstance(value, Number) and value.value == 0
