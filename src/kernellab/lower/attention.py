"""Attention: each row of a result is a mean of rows of a matrix, weighted by exponentials of scores.

As a graph has it, weights are divided by their sum before they are multiplied. That division, and whatever else is the same
for all weights of a row, is moved behind the sum; then the maximum of the scores, the sum of the exponentials below it and
the weighted sum all go over the same keys, and one pass makes them: where the maximum grows on the way, what has been added
so far is made smaller by as much. Neither scores nor weights are stored.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kernellab.lower.axes import Axis, Index, points
from kernellab.lower.inline import Store
from kernellab.lower.rebuild import Axes, Instead, rebuilt
from kernellab.lower.sizes import ONE, ZERO, Size
from kernellab.lower.values import (
    Apply,
    Number,
    Place,
    Reduce,
    Value,
    apply,
    number,
    place,
    reduce,
    reductions_in,
    walk,
)
from kernellab.lower.work import Times

WIDEST = 256
"""Columns, and terms of a score, that a program has at a time."""
_LEAST = 16
"""Keys that are worth it."""
_TILE = 64
"""Rows of a program, about: keys and values are read again for each."""


@dataclass(frozen=True)
class Attention:
    """`total`: the weighted sum of `values`; `below`: the sum of the weights; `top`: the maximum of `scores`. `product`: the
    sum of `query` times `key` that the scores are made from, if so. `beside`: other reductions of a row's scores."""

    store: Store
    scores: Value
    values: Value
    top: Reduce
    below: Reduce
    total: Reduce
    beside: tuple[Reduce, ...]
    product: Reduce | None
    query: Value | None
    key: Value | None

    @property
    def keys(self) -> tuple[Axis, ...]:
        return self.total.axes

    @property
    def terms(self) -> tuple[Axis, ...]:
        return self.product.axes if self.product else ()

    @cached_property
    def rows(self) -> tuple[Axis, ...]:
        """Under a causal mask those that it goes by: others would see keys that end elsewhere."""
        every = tuple(a for a in self.store.axes if a in self.scores.free and a not in self.values.free)
        ordered = [a for a in every if len(self.keys) == 1 and _ends(self.scores, self.keys[0], a) is not None]
        return tuple(ordered[:1]) or every

    @property
    def columns(self) -> tuple[Axis, ...]:
        return tuple(a for a in self.store.axes if a in self.values.free and a not in self.scores.free)

    @property
    def batch(self) -> tuple[Axis, ...]:
        return tuple(a for a in self.store.axes if a not in self.rows and a not in self.columns)

    def fits(self, sizes: Mapping[str, int]) -> bool:
        """Whether a program can hold its rows, and there are keys enough."""
        wide = max(points(self.columns, sizes), points(self.terms, sizes))
        return wide <= WIDEST and points(self.keys, sizes) >= _LEAST


def attention_of(stores: Sequence[Store]) -> Attention | None:
    """The kernel as attention, where it is that and nothing but pointwise work is around it."""
    if len(stores) != 1:
        return None
    store = stores[0]
    for whole in walk(store.value):
        for weight, values in _weighted(whole):
            found = _attention(store, whole, weight, values)
            if found is not None:
                return found
    return None


def _weighted(whole: Value) -> Iterator[tuple[Value, Value]]:
    """The factors of a sum of products, either way round."""
    if (
        isinstance(whole, Reduce)
        and whole.how == "sum"
        and isinstance(whole.body, Apply)
        and whole.body.function == "mul"
    ):
        one, two = whole.body.children()
        yield one, two
        yield two, one


def _attention(store: Store, whole: Value, weight: Value, values: Value) -> Attention | None:
    assert isinstance(whole, Reduce)
    keys = frozenset(whole.axes)
    raised = _exponential(weight, keys)
    if raised is None or reductions_in(values):
        return None
    total = reduce("sum", whole.axes, apply("mul", raised, values))
    if weight is not raised:
        if sum(r.axes == whole.axes for r in reductions_in(store.value)) > 1:
            return None
        behind = _put(weight, raised, total)
        store = replace(store, value=rebuilt(store.value, Instead(whole, behind)))
    store = replace(store, value=rebuilt(store.value, Axes(_same_keys(store.value, whole.axes))))
    return _canonical(store, whole.axes)


def _exponential(weight: Value, keys: frozenset[Axis]) -> Value | None:
    """exp(scores - maximum), where a weight is that but for what is the same for all keys."""
    if not isinstance(weight, Apply):
        return None
    function, inner = weight.function, weight.children()
    if function == "exp":
        below = inner[0]
        top = below.children()[1] if isinstance(below, Apply) and below.function == "sub" else None
        return weight if isinstance(top, Reduce) and top.how == "max" and not top.free & keys else None
    if function == "where":
        condition, yes, no = inner
        kept = yes if _is(no, 0.0) else no if _is(yes, 0.0) else None
        return _exponential(kept, keys) if kept is not None and not condition.free & keys else None
    if function == "div" and not inner[1].free & keys:
        return _exponential(inner[0], keys)
    if function == "mul":
        one, two = inner
        return _exponential(one, keys) if not two.free & keys else None if one.free & keys else _exponential(two, keys)
    return None


def _put(weight: Value, raised: Value, total: Value) -> Value:
    """The weight with the weighted sum in place of its exponential."""
    if weight is raised:
        return total
    assert isinstance(weight, Apply)
    kept = [_put(c, raised, total) if raised in walk(c) else c for c in weight.children()]
    return apply(weight.function, *kept)


def _same_keys(value: Value, keys: tuple[Axis, ...]) -> dict[Axis, Axis]:
    """The axes of other reductions over the keys, each with the one that it is renamed to."""
    extents = [a.extent for a in keys]
    found: dict[Axis, Axis] = {}
    for other in reductions_in(value):
        whole = other.how != "sum" or (isinstance(other.body, Apply) and other.body.function == "exp")
        if whole and other.axes != keys and [a.extent for a in other.axes] == extents:
            found.update(zip(other.axes, keys, strict=True))
    return found


def _canonical(store: Store, keys: tuple[Axis, ...]) -> Attention | None:
    """All reductions over the keys have the same axes. Each must have its place."""
    over = [r for r in reductions_in(store.value) if r.axes == keys]
    inside = [r for r in reductions_in(store.value) if r.axes != keys]
    totals = [r for r in over if r.how == "sum" and next(_raised(r), None) is not None]
    if len(totals) != 1 or len(inside) > 1:
        return None
    total = totals[0]
    raised, values = next(_raised(total))
    scores, top = raised.children()[0].children()
    below = reduce("sum", keys, raised)
    if top is not reduce("max", keys, scores) or below not in over or not isinstance(top, Reduce):
        return None
    beside = tuple(r for r in over if r not in (total, top, below))
    known = {total, top, below, *beside}
    if any(known & set(reductions_in(r.body)) for r in beside) or any(total in walk(r.body) for r in over):
        return None
    product, query, key = _product(scores, inside, frozenset(keys))
    if len(inside) != (product is not None):
        return None
    found = Attention(store, scores, values, top, below, total, beside, product, query, key)
    return found if _apart(found) else None


def _raised(total: Reduce) -> Iterator[tuple[Apply, Value]]:
    for weight, values in _weighted(total):
        if (
            isinstance(weight, Apply)
            and weight.function == "exp"
            and _exponential(weight, frozenset(total.axes)) is weight
        ):
            yield weight, values


def _product(
    scores: Value, inside: Sequence[Reduce], keys: frozenset[Axis]
) -> tuple[Reduce, Value, Value] | tuple[None, None, None]:
    """The one sum of products in the scores: queries do not depend on keys."""
    for whole in inside:
        if whole in walk(scores):
            for query, key in _weighted(whole):
                if not query.free & keys and key.free & keys:
                    return whole, query, key
    return None, None, None


def _apart(found: Attention) -> bool:
    """Whether rows, columns and keys are where tensor cores need them; of a single row, where one program does."""
    rows, columns, keys, terms = map(frozenset, (found.rows, found.columns, found.keys, found.terms))
    if not columns or not keys <= found.scores.free or not keys <= found.values.free:
        return False
    if found.query is None or found.key is None:
        return True
    return bool(terms <= found.query.free and terms <= found.key.free and not found.key.free & rows)


def counted(found: Attention, sizes: Mapping[str, int]) -> Counter[Value]:
    """How often each value is computed: what belongs to keys once for each block of rows."""
    times = Counter({v: points(v.free, sizes) for v in walk(found.store.value)})
    again = math.ceil(points(found.rows, sizes) / _TILE)
    for factor in (found.key, found.values):
        for value in walk(factor) if factor is not None else ():
            times[value] *= again
    for whole in (found.total, found.product):
        if whole is not None:
            times[whole.body] = 0
    return times


def attended(otherwise: Times) -> Times:
    """How often values are computed where attention is one kernel."""

    def times(stores: Sequence[Store], sizes: Mapping[str, int]) -> Counter[Value]:
        found = attention_of(stores)
        return counted(found, sizes) if found is not None and found.fits(sizes) else otherwise(stores, sizes)

    return times


# --- what need not be looked at


def last_key(found: Attention) -> Size | None:
    """A row's place plus this is the last key whose score is not -inf, where the scores are masked so: a causal mask."""
    if len(found.rows) != 1 or not _can_end(found):
        return None
    return _ends(found.scores, found.keys[0], found.rows[0])


def key_count(found: Attention) -> Value | None:
    """How many keys the rows of a program can see, where a mask compares their places with a number of the batch's own."""
    if not _can_end(found):
        return None
    hidden = {*found.keys, *found.rows}
    counts = (_count(c, found.keys[0]) for c in _conditions(found.scores))
    return next((count for count in counts if count is not None and not count.free & hidden), None)


def _can_end(found: Attention) -> bool:
    return len(found.keys) == 1 and all(any_at_all(r, found.scores) for r in found.beside)


def _count(condition: Value, key: Axis) -> Value | None:
    """n of key < n."""
    if not isinstance(condition, Apply) or condition.function not in ("le", "lt", "ge", "gt"):
        return None
    one, two = condition.children()
    less, more = (one, two) if condition.function in ("le", "lt") else (two, one)
    if less is not place(Index.of(key)) or more.kind != "int":
        return None
    return more if condition.function in ("lt", "gt") else apply("add", more, number(1))


def any_at_all(other: Reduce, scores: Value) -> bool:
    """Whether it asks for any score that is not -inf. Then the sum of the weights, to which the largest adds 1, is not 0."""
    some = apply("not", apply("eq", scores, number(-math.inf)))
    return other.how == "max" and other.body in (some, apply("int", some))


def _conditions(scores: Value) -> Iterator[Value]:
    """What must hold, or a score is -inf."""
    if not isinstance(scores, Apply):
        return
    if scores.function == "add":
        for part in scores.children():
            yield from _conditions(part)
    elif scores.function == "where":
        condition, yes, no = scores.children()
        if _is(no, -math.inf):
            yield from _all_of(condition)
            yield from _conditions(yes)


def _all_of(condition: Value) -> Iterator[Value]:
    if isinstance(condition, Apply) and condition.function == "and":
        for part in condition.children():
            yield from _all_of(part)
    else:
        yield condition


def _ends(scores: Value, key: Axis, row: Axis) -> Size | None:
    """n, where scores of keys behind row + n are -inf."""
    limits = (_limit(condition, key, row) for condition in _conditions(scores))
    return next((limit for limit in limits if limit is not None), None)


def _limit(condition: Value, key: Axis, row: Axis) -> Size | None:
    """n of key <= row + n."""
    if not isinstance(condition, Apply) or condition.function not in ("le", "lt", "ge", "gt"):
        return None
    one, two = (_place(c) for c in condition.children())
    if one is None or two is None:
        return None
    less, more = (one, two) if condition.function in ("le", "lt") else (two, one)
    apart = less + more.times(Size.of(-1))
    if {t: f for t, f in apart.terms if f != ZERO} != {key: ONE, row: Size.of(-1)}:
        return None
    return -apart.offset - (ONE if condition.function in ("lt", "gt") else ZERO)


def _place(value: Value) -> Index | None:
    """A sum or difference of indices as one index."""
    if isinstance(value, Number) and isinstance(value.value, int):
        return Index.of(Size.of(value.value))
    if isinstance(value, Place):
        return value.indices()[0]
    if isinstance(value, Apply) and value.function in ("add", "sub"):
        one, two = (_place(c) for c in value.children())
        if one is not None and two is not None:
            return one + (two if value.function == "add" else two.times(Size.of(-1)))
    return None


def _is(value: Value, wanted: float) -> bool:
    return isinstance(value, Number) and value.kind == "float" and value.value == wanted
