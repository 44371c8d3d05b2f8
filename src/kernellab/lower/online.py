"""Two reductions of a row in one pass, where the second needs the first's result: a row that is too long for the registers
is then read twice, not three times.

A maximum and the sum of exponentials below it: where the maximum grows on the way, what has been added so far is made
smaller by as much. A sum and the squares of the distances from its mean: by Welford's updates of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernellab.lower.axes import Index
from kernellab.lower.inline import Store
from kernellab.lower.sizes import product_of
from kernellab.lower.values import Apply, Reduce, Value, apply, place, walk


@dataclass(frozen=True)
class Online:
    """`exponentials`: `first` is the maximum of its body, `second` the sum of exp(body - first). `moments`: `first` is the
    sum of its body, `second` the sum of (body - mean)^2."""

    kind: Literal["exponentials", "moments"]
    first: Reduce
    second: Reduce


def online_of(stores: Sequence[Store]) -> list[Online]:
    """Every first reduction with one second at most."""
    found: dict[Value, Online] = {}
    for value in walk(*(s.value for s in stores)):
        pair = (_exponentials(value) or _moments(value)) if isinstance(value, Reduce) and value.how == "sum" else None
        if pair is not None:
            found.setdefault(pair.first, pair)
    return list(found.values())


def _exponentials(total: Reduce) -> Online | None:
    body = total.body
    below = body.children()[0] if isinstance(body, Apply) and body.function == "exp" else None
    if not isinstance(below, Apply) or below.function != "sub":
        return None
    element, top = below.children()
    same = isinstance(top, Reduce) and (top.how, top.axes, top.body) == ("max", total.axes, element)
    return Online("exponentials", top, total) if same and isinstance(top, Reduce) else None


def _moments(squares: Reduce) -> Online | None:
    body = squares.body
    away, again = body.children() if isinstance(body, Apply) and body.function == "mul" else (None, None)
    if away is not again or not isinstance(away, Apply) or away.function != "sub":
        return None
    element, mean = away.children()
    if not isinstance(mean, Apply) or mean.function != "div":
        return None
    total, count = mean.children()
    same = isinstance(total, Reduce) and (total.how, total.axes, total.body) == ("sum", squares.axes, element)
    if not same or not isinstance(total, Reduce) or count is not _length(squares):
        return None
    return Online("moments", total, squares)


def _length(value: Reduce) -> Value:
    """How many elements it is of, as rules write it."""
    return apply("float", place(Index.of(product_of(a.extent for a in value.axes))))
