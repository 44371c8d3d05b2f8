"""Order without sorting: the next largest again and again where few are wanted, else everybody's place by counting."""

from __future__ import annotations

from collections.abc import Callable

from kernellab.lower.axes import Index
from kernellab.lower.rules.layout import spot as placed
from kernellab.lower.rules.reductions import over
from kernellab.lower.site import NotLowered, Rule, Site
from kernellab.lower.values import Value, apply, number, place

_FEW = 16
"""As many as are looked for one after the other."""
_SHORT = 64
"""A row whose order is counted out: that takes the cube of its length."""


class _Row:
    """The elements along one dim, in the order of torch: equal ones by their place."""

    def __init__(self, site: Site, dim: int, largest: bool) -> None:
        own = site.shape_of(site.arg(0))
        if not own or site.kind_of(site.arg(0)) != "float":
            raise NotLowered(f"{site.node.op} of a single element, or of numbers that are not floats")
        self._site, self._largest = site, largest
        self.dim, self.extent = dim % len(own), own[dim % len(own)]

    def at(self, spot: Index) -> Value:
        index = [spot if d == self.dim else i for d, i in enumerate(self._site.index)]
        return apply("float", self._site.at(self._site.arg(0), index))

    def over(self, how: str, body: Callable[[Index], Value], hint: str) -> Value:
        return over(self._site, how, [self.extent], lambda inner: body(inner[0]), hint)

    def next_place(self, taken: list[Value]) -> Value:
        """Of the first among those that are left."""
        worst = number(float("-inf" if self._largest else "inf"))

        def left(spot: Index) -> Value:
            found = self.at(spot)
            for place_ in taken:
                found = apply("where", apply("eq", place(spot), place_), worst, found)
            return found

        return self.over("argmax" if self._largest else "argmin", left, f"t{len(taken)}")

    def rank(self, spot: Index) -> Value:
        """How many come before it."""
        mine = self.at(spot)

        def before(other: Index) -> Value:
            theirs = self.at(other)
            first = apply("gt" if self._largest else "lt", theirs, mine)
            tie = apply("and", apply("eq", theirs, mine), apply("lt", place(other), place(spot)))
            return apply("int", apply("or", first, tie))

        return self.over("sum", before, "n")

    def place_of(self, order: Value) -> Value:
        """Whose turn it is."""
        if self.extent.number is None or self.extent.number > _SHORT:
            raise NotLowered(f"{self._site.node.op} of rows of more than {_SHORT} elements, or of any length")
        hit = lambda spot: apply("where", apply("eq", self.rank(spot), order), place(spot), number(0))  # noqa: E731
        return self.over("sum", hit, "p")

    def result(self, where: Value) -> Value:
        return where if self._site.part else self.at(placed(where, self.extent))


def top(site: Site) -> Value:
    count, dim = site.arg(1), site.arg(2, "dim", -1)
    row = _Row(site, dim, bool(site.arg(3, "largest", True)))
    order = place(site.index[row.dim])
    if not isinstance(count, int) or count > _FEW:
        return row.result(row.place_of(order))
    taken: list[Value] = []
    for _ in range(count):
        taken.append(row.next_place(taken))
    found = taken[-1]
    for number_, spot in reversed(list(enumerate(taken[:-1]))):
        found = apply("where", apply("eq", order, number(number_)), spot, found)
    return row.result(found)


def ordered(site: Site) -> Value:
    stable = site.node.op.endswith(".stable")
    dim, down = (site.arg(2, "dim", -1), site.arg(3, "descending", False)) if stable else (
        site.arg(1, "dim", -1), site.arg(2, "descending", False))  # fmt: skip
    row = _Row(site, dim, bool(down))
    return row.result(row.place_of(place(site.index[row.dim])))


RULES: dict[str, Rule] = {"topk": top, "sort": ordered}
