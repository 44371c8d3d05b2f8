"""Which kernels are products: a sum over axes of one factor times another, with anything pointwise behind it.

Matrix products, batches of them, convolutions. The axes of the result fall into three groups: rows (only the first factor
depends on them), columns (only the second), and a batch (both, or neither). Tensor cores make rows times columns at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kernellab.lower.axes import Axis, points
from kernellab.lower.inline import Store
from kernellab.lower.rebuild import Axes, rebuilt
from kernellab.lower.values import Apply, Bound, Guard, Load, Number, Reduce, Value, guard, looked, number, walk
from kernellab.lower.work import Times

_TILE = 128
"""Rows and columns of a block of the result, about: a factor is read again for each block that it is part of."""
_LEAST = 16
"""Rows, columns and terms that a tensor core takes at a time."""
_SCALAR = 8
"""A product outside of tensor cores takes so many times as long."""


@dataclass(frozen=True)
class Product:
    """`along`: the axes of the sum, as the first factor has them; the second has its own, of other names, `across`."""

    store: Store
    whole: Reduce
    one: Value
    two: Value
    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    along: tuple[Axis, ...]
    across: tuple[Axis, ...]
    edges: tuple[Bound, ...] = ()
    """Nothing is stored where one of these does not hold."""

    @property
    def edged(self) -> Store:
        """The store with its edges around its value, so that both are changed together."""
        return replace(self.store, value=guard(self.edges, self.store.value, number(0.0)))


@dataclass(frozen=True)
class Operand:
    """A factor that is an element of a tensor, or zero where a bound or a condition does not hold."""

    load: Load
    bounds: tuple[Bound, ...] = ()
    conditions: tuple[Value, ...] = ()


def product_of(stores: Sequence[Store], edged: bool = False) -> Product | None:
    """The kernel as a product, where it is one and nothing but pointwise work is around it. `edged`: a guard around all of
    that says what is stored."""
    edges: tuple[Bound, ...] = ()
    if edged and isinstance(guarded := stores[0].value, Guard):
        stores, edges = [replace(stores[0], value=guarded.body)], guarded.bounds
    reductions = [v for v in walk(*(s.value for s in stores)) if isinstance(v, Reduce)]
    if len(stores) != 1 or len(reductions) != 1 or not is_product(reductions[0]):
        return None
    (store,), (whole,) = stores, reductions
    one, two = whole.body.children()
    rows = tuple(a for a in store.axes if a in one.free and a not in two.free)
    at_edges = {a for index, _ in edges for a in index.axes}
    columns = tuple(a for a in store.axes if a in two.free and a not in one.free and a not in at_edges)
    batch = tuple(a for a in store.axes if a not in rows and a not in columns)
    if not rows or not columns:
        return None
    across = tuple(Axis(f"{a.name}b", a.extent) for a in whole.axes)
    two = rebuilt(two, Axes(dict(zip(whole.axes, across, strict=True))))
    return Product(store, whole, one, two, batch, rows, columns, whole.axes, across, edges)


def is_product(value: Value) -> bool:
    """A sum of products of two factors, each with axes that the other does not have."""
    if not isinstance(value, Reduce) or value.how != "sum" or value.kind != "float":
        return False
    body = value.body
    if not isinstance(body, Apply) or body.function != "mul" or any(isinstance(v, Reduce) for v in walk(body)):
        return False
    one, two = body.children()
    if one.kind != "float" or two.kind != "float" or not one.free - two.free or not two.free - one.free:
        return False
    inside = set(value.axes)
    return bool(
        one.free & inside and two.free & inside and one.free - two.free - inside and two.free - one.free - inside
    )


def operand_of(factor: Value) -> Operand | None:
    if isinstance(factor, Load):
        return Operand(factor)
    if isinstance(factor, Guard) and _is_zero(factor.other):
        inner = operand_of(factor.body)
        if inner is None or any(looked((*factor.indices(), *inner.load.indices()))):
            return None
        return Operand(inner.load, (*factor.bounds, *inner.bounds), inner.conditions)
    if isinstance(factor, Apply) and factor.function == "where" and _is_zero(factor.children()[2]):
        condition, body, _ = factor.children()
        inner = operand_of(body)
        return inner and Operand(inner.load, inner.bounds, (condition, *inner.conditions))
    return None


def _is_zero(value: Value) -> bool:
    return isinstance(value, Number) and value.value == 0


def counted(otherwise: Times) -> Times:
    """How often values are computed where products have tensor cores. One that stands among other things, so that it cannot
    have them, counts as more: it is better stored first."""

    def times(stores: Sequence[Store], sizes: Mapping[str, int]) -> Counter[Value]:
        product = product_of(stores)
        if product is not None and is_large(product.whole, sizes):
            return _in_blocks(product, sizes)
        found = otherwise(stores, sizes)
        slow = {v: found[v] * (_SCALAR - 1) for v in _could_be(stores, sizes) if v in found}
        return found + Counter(slow)

    return times


def _could_be(stores: Sequence[Store], sizes: Mapping[str, int]) -> list[Value]:
    """What would be a product on tensor cores if it were stored: a large product, with pointwise work behind it or not."""
    inside: dict[Value, frozenset[Reduce]] = {}
    for value in walk(*(s.value for s in stores)):
        below = frozenset(r for child in value.children() for r in inside[child])
        inside[value] = below | {value} if isinstance(value, Reduce) else below
    alone = [(v, next(iter(r))) for v, r in inside.items() if len(r) == 1 and isinstance(v, Reduce | Apply)]
    return [v for v, whole in alone if is_product(whole) and is_large(whole, sizes)]


def is_large(whole: Value, sizes: Mapping[str, int]) -> bool:
    """Whether tensor cores have something to do."""
    assert isinstance(whole, Reduce)
    one, two = whole.body.children()
    inside = frozenset(whole.axes)
    parts = (inside, one.free - two.free - inside, two.free - one.free - inside)
    return all(points(part, sizes) >= _LEAST for part in parts)


def _in_blocks(product: Product, sizes: Mapping[str, int]) -> Counter[Value]:
    """A factor is computed once for each block of the other's axes."""
    times = Counter({v: points(product.store.axes, sizes) for v in walk(product.store.value)})
    one, two = product.whole.body.children()
    for factor, others in ((one, product.columns), (two, product.rows)):
        again = math.ceil(points(others, sizes) / _TILE)
        for value in walk(factor):
            times[value] = points(value.free, sizes) * again
    times[product.whole.body] = 0
    return times
