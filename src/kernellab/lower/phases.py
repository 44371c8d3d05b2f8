"""Transposed convolutions by phases of the output.

An output gathers only from inputs at a distance that is a multiple of the stride, so the filter's elements that it takes
depend on its place modulo the stride alone. Outputs of one phase are an ordinary convolution with a part of the filter: no
product with zeros is left, where the general form has one in stride of each dim. The last output of a phase may lie beyond
the edge; the store is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernellab.lower.axes import Axis, Index, Quotient, Remainder, Term
from kernellab.lower.inline import Store
from kernellab.lower.product import Operand, Product, operand_of, product_of
from kernellab.lower.rebuild import Change, Instead, Made, rebuilt
from kernellab.lower.sizes import ONE, Size
from kernellab.lower.values import Apply, Bound, Place, Value, apply, guard, number, reduce


@dataclass(frozen=True)
class _Dim:
    """One dim of the output: `at` = stride times `outer` plus `phase`; the terms `along` that count are every stride-th."""

    at: Axis
    along: Axis
    exact: Quotient
    stride: int
    outer: Axis
    phase: Axis
    each: Axis

    @property
    def start(self) -> Index:
        """The phase, with the padding: what the first term that counts and the first input depend on."""
        return Index.of(self.phase).shifted(self.exact.of.offset)

    @property
    def place(self) -> Index:
        return Index.of(self.outer).times(Size.of(self.stride)) + Index.of(self.phase)

    @property
    def term(self) -> Index:
        return Index.of(self.each).times(Size.of(self.stride)) + Index.of(Remainder(self.start, Size.of(self.stride)))

    @property
    def input(self) -> Index:
        back = Index.of(self.each).times(-ONE)
        return Index.of(self.outer) + back + Index.of(Quotient(self.start, Size.of(self.stride)))


def phased(product: Product) -> Product | None:
    """The kernel by phases; None where it has none."""
    one, two = product.whole.body.children()
    operand = operand_of(one)
    if operand is None or not operand.conditions:
        return None
    found = [_dim(c, product) for condition in operand.conditions for c in _each(condition)]
    dims = [d for d in found if d is not None]
    if len(dims) < len(found):
        return None
    edges: tuple[Bound, ...] = tuple((d.place, d.at.extent) for d in dims if not d.place.inside(d.at.extent))
    store = _by_phases(product, operand, two, dims)
    return product_of([replace(store, value=guard(edges, store.value, number(0.0)))], edged=bool(edges))


def _by_phases(product: Product, operand: Operand, two: Value, dims: list[_Dim]) -> Store:
    change = _Phases(dims)
    terms: tuple[Bound, ...] = tuple((d.term, d.along.extent) for d in dims)
    one = guard(operand.bounds, operand.load, number(0.0))
    factors = apply("mul", *(guard(terms, rebuilt(f, change), number(0.0)) for f in (one, two)))
    each = {d.along: d.each for d in dims}
    whole = reduce("sum", tuple(a for x in product.along if (a := each.get(x, x)).extent != ONE), factors)
    store = product.store
    value = rebuilt(rebuilt(store.value, Instead(product.whole, whole)), change)
    outer = {d.at: d.outer for d in dims}
    axes = (*(d.phase for d in dims), *(a for x in store.axes if (a := outer.get(x, x)).extent != ONE))
    index = tuple(change.index(i, {}) for i in store.index)
    return replace(store, index=index, value=value, axes=axes)


def _each(condition: Value) -> list[Value]:
    if isinstance(condition, Apply) and condition.function == "and":
        return [c for part in condition.children() for c in _each(part)]
    return [condition]


def _dim(condition: Value, product: Product) -> _Dim | None:
    """The dim whose outputs are those at which a division leaves nothing."""
    if not isinstance(condition, Apply) or condition.function != "eq":
        return None
    left, right = condition.children()
    if not isinstance(left, Place) or not isinstance(right, Place):
        return None
    (times,), (far,) = left.indices(), right.indices()
    factors = dict(far.terms)
    at = [a for a in product.rows if factors.get(a) == ONE]
    along = [a for a in product.along if factors.get(a) == -ONE]
    exact, stride = next(iter(times.terms), (None, ONE))
    if len(factors) != 2 or len(at) != 1 or len(along) != 1 or stride.number is None or exact != Quotient(far, stride):
        return None
    assert isinstance(exact, Quotient)
    return _Dim(
        at[0], along[0], exact, stride.number, Axis(f"{at[0].name}o", _divided(at[0].extent, stride)),
        Axis(f"{at[0].name}i", stride), Axis(f"{along[0].name}o", _divided(along[0].extent, stride)),
    )  # fmt: skip


def _divided(extent: Size, by: Size) -> Size:
    """Rounded up."""
    exact = extent.over(by)
    return exact if exact is not None else Size.of(f"({extent.text} + {by.text} - 1) // {by.text}")


class _Phases(Change):
    def __init__(self, dims: list[_Dim]) -> None:
        self._places: dict[Term, Index] = {}
        for d in dims:
            self._places |= {d.at: d.place, d.along: d.term, d.exact: d.input}

    def index(self, index: Index, made: Made) -> Index:
        found = Index((), index.offset)
        for term, factor in index.terms:
            place = self._places.get(term)
            place = super().index(Index(((term, ONE),)), made) if place is None else place
            found = found + place.times(factor)
        return found
