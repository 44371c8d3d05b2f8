"""Elements that are sent somewhere: each place asks who was sent to it. Right for any number; slow where there are many."""

from __future__ import annotations

from collections.abc import Callable

from kernellab.graph.record import Ref
from kernellab.lower.axes import Index
from kernellab.lower.rules.layout import spot as placed
from kernellab.lower.rules.pointwise import add
from kernellab.lower.rules.reductions import over
from kernellab.lower.site import NotLowered, Rule, Site
from kernellab.lower.sizes import ONE, Size
from kernellab.lower.values import NEUTRAL, Value, apply, guard, number, place

_HOW = {"sum": "sum", "prod": "prod", "amax": "max", "amin": "min"}
_JOINS = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}


class _Sent:
    """(x, dim, index, src): along one dim, to where `index` says; elsewhere each stays where it is."""

    def __init__(self, site: Site) -> None:
        self.site, self.where = site, site.arg(2)
        rank = max(1, len(site.shape_of(site.arg(0))))
        self.dim = site.arg(1) % rank
        self.own = site.shape_of(self.where)
        self.extent = site.shape_of(site.arg(0))[self.dim] if site.index else ONE

    def at(self, spot: Index) -> list[Index]:
        return [spot if d == self.dim else i for d, i in enumerate(self.site.index)]

    def hit(self, index: list[Index]) -> Value:
        return apply("eq", _positive(self.site.at(self.where, index), self.extent), place(self.site.index[self.dim]))

    def inside(self, body: Value, other: Value) -> Value:
        """Where the indices have fewer rows than the result, those beyond get nothing."""
        bounds = tuple((i, e) for d, (i, e) in enumerate(zip(self.site.index, self.own, strict=True)) if d != self.dim)
        return guard(bounds, body, other)

    def over(self, how: str, neutral: Value, value: Callable[[list[Index]], Value]) -> Value:
        def body(inner: list[Index]) -> Value:
            index = self.at(inner[0])
            return self.inside(apply("where", self.hit(index), value(index), neutral), neutral)

        return over(self.site, how, [self.own[self.dim]], body)


def _positive(value: Value, extent: Size) -> Value:
    return apply("where", apply("lt", value, number(0)), add(value, place(Index.of(extent))), value)


def _number(site: Site, value: float) -> Value:
    return number(float(value) if site.kind == "float" else int(value))


def scatter(site: Site) -> Value:
    """The last that was sent there, or what was there."""
    sent, source = _Sent(site), site.arg(3, "src", site.node.kwargs.get("value"))
    last = sent.over("max", number(-1), lambda index: place(index[sent.dim]))
    kept = apply(site.kind, site.at(site.arg(0), site.index))
    if isinstance(source, Ref):
        spot = placed(apply("max", last, number(0)), sent.own[sent.dim])
        new = apply(site.kind, sent.inside(site.at(source, sent.at(spot)), kept))
    else:
        new = _number(site, source)
    return apply("where", apply("ge", last, number(0)), new, kept)


def scatter_add(site: Site) -> Value:
    sent, source = _Sent(site), site.arg(3, "src")
    more = sent.over("sum", _number(site, 0), lambda index: apply(site.kind, site.at(source, index)))
    return add(apply(site.kind, site.at(site.arg(0), site.index)), more)


def scatter_reduce(site: Site) -> Value:
    """What was there counts as one of those that were sent, or only where none was."""
    sent, source, how = _Sent(site), site.arg(3, "src"), site.arg(4, "reduce")
    if how not in (*_HOW, "mean") or site.kind != "float":
        raise NotLowered(f"scatter_reduce by {how!r}, or of whole numbers")
    by = _HOW["sum" if how == "mean" else how]
    found = sent.over(by, number(NEUTRAL[by]), lambda index: apply("float", site.at(source, index)))
    before = apply("float", site.at(site.arg(0), site.index))
    counts = site.arg(5, "include_self", True)
    joined = apply(_JOINS[by], before, found) if counts else found
    if counts and how != "mean":
        return joined
    sendings = sent.over("sum", number(0.0), lambda index: number(1.0))
    if how == "mean":
        joined = apply("div", joined, add(sendings, number(1.0)) if counts else apply("max", sendings, number(1.0)))
    return joined if counts else apply("where", apply("gt", sendings, number(0.0)), joined, before)


def _along(site: Site, where: Ref, dim: int, source: Ref) -> Value:
    """The sum of those rows of the source that go to this one; `where` has one place a row."""

    def body(inner: list[Index]) -> Value:
        spot = _positive(site.at(where, [inner[0]]), site.shape[dim])
        index = [inner[0] if d == dim else i for d, i in enumerate(site.index)]
        hit = apply("eq", spot, place(site.index[dim]))
        return apply("where", hit, apply(site.kind, site.at(source, index)), _number(site, 0))

    return over(site, "sum", [site.shape_of(where)[0]], body)


def index_add(site: Site) -> Value:
    if site.arg(4, "alpha", 1) != 1:
        raise NotLowered("index_add with a factor")
    found = _along(site, site.arg(2), site.arg(1) % len(site.index), site.arg(3))
    return add(apply(site.kind, site.at(site.arg(0), site.index)), found)


def index_put(site: Site) -> Value:
    """x[..., where, ...] = values, or += values; one tensor of places."""
    base, wheres, values = site.arg(0), site.node.args[1], site.arg(2)
    assert isinstance(wheres, list)
    listed = [(d, w) for d, w in enumerate(wheres) if isinstance(w, Ref)]
    if len(listed) != 1 or len(listed) != sum(w is not None for w in wheres) or site.kind_of(listed[0][1]) == "bool":
        raise NotLowered("places by a mask or by several tensors, written to")
    dim, where = listed[0]
    kept, extents = apply(site.kind, site.at(base, site.index)), site.shape_of(where)

    def hit(inner: list[Index]) -> Value:
        return apply("eq", _positive(site.at(where, inner), site.shape[dim]), place(site.index[dim]))

    def value(inner: list[Index]) -> Value:
        return apply(site.kind, site.operand(values, [*site.index[:dim], *inner, *site.index[dim + 1 :]]))

    if site.arg(3, "accumulate", False):
        return add(kept, over(site, "sum", extents, lambda i: apply("where", hit(i), value(i), _number(site, 0))))
    if len(extents) != 1:
        raise NotLowered("places in a tensor of several dims, written to")
    last = over(site, "max", extents, lambda i: apply("where", hit(i), place(i[0]), number(-1)))
    new = value([placed(apply("max", last, number(0)), extents[0])])
    return apply("where", apply("ge", last, number(0)), new, kept)


def embedding_gradient(site: Site) -> Value:
    """(gradient, indices, rows, padding, scale): the sum of the gradients of every use of a row."""
    grad, where, padding = site.arg(0), site.arg(1), site.arg(3)
    if site.arg(4):
        raise NotLowered("gradients of an embedding divided by how often each row is used")
    row = place(site.index[0])

    def body(inner: list[Index]) -> Value:
        used = site.at(where, inner)
        hit = apply("eq", used, row)
        hit = hit if padding < 0 else apply("and", hit, apply("ne", used, number(padding)))
        return apply("where", hit, apply("float", site.at(grad, [*inner, site.index[1]])), number(0.0))

    return over(site, "sum", site.shape_of(where), body)


RULES: dict[str, Rule] = {
    "scatter": scatter, "scatter_add": scatter_add, "scatter_reduce": scatter_reduce, "index_add": index_add,
    "index_put": index_put, "_unsafe_index_put": index_put, "embedding_dense_backward": embedding_gradient,
}  # fmt: skip
