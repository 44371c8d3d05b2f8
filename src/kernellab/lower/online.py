"""Two reductions of a row in one pass, where the second needs the first's result: a row that is too long for the registers
is then read twice, not three times.

A maximum and the sum of exponentials below it: where the maximum grows on the way, what has been added so far is made
smaller by as much. A sum and the squares of the distances from its mean: by Welford's updates of both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernellab.lower.axes import Index
from kernellab.lower.inline import Store
from kernellab.lower.sizes import product_of
from kernellab.lower.values import Apply, Reduce, Value, apply, number, place, reduce, walk


@dataclass(frozen=True)
class Online:
    """`exponentials`: `first` is the maximum of its body, `second` the sum of exp(body - first). `moments`: `first` is the
    sum of its body, `second` the sum of (body - mean)^2."""

    kind: Literal["exponentials", "moments"]
    first: Reduce
    second: Reduce


def tamed(total: Value) -> Value:
    """sum(exp(x - t)), where t is the maximum m of x, or 0 where m is infinite (as logsumexp has it), as the same sum below
    m itself, and what it comes to where m is infinite: that is known without a sum."""
    body = total.body if isinstance(total, Reduce) and total.how == "sum" else None
    below = body.children()[0] if isinstance(body, Apply) and body.function == "exp" else None
    if not isinstance(total, Reduce) or not isinstance(below, Apply) or below.function != "sub":
        return total
    element, top = below.children()
    most = top.children()[-1] if isinstance(top, Apply) and top.function == "where" else None
    if not isinstance(most, Reduce) or (most.how, most.axes, most.body) != ("max", total.axes, element):
        return total
    infinite = apply("eq", apply("abs", most), number(math.inf))
    if top is not apply("where", infinite, number(0.0), most):
        return total
    known = apply("where", apply("gt", most, number(0.0)), number(math.inf), number(0.0))
    return apply("where", infinite, known, reduce("sum", total.axes, apply("exp", apply("sub", element, most))))


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
