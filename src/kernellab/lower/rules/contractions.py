"""Sums of products: matrix products, convolutions, pooling windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from kernellab.lower.axes import Index, Quotient, digits
from kernellab.lower.rules.pointwise import add, div, f, mul, power, sub
from kernellab.lower.rules.reductions import over
from kernellab.lower.site import NotLowered, Rule, Site
from kernellab.lower.sizes import Size, product_of
from kernellab.lower.values import Apply, Reduce, Value, apply, guard, number, place, reduce


def _product(site: Site, a: Any, b: Any, one: list[Index | None], other: list[Index | None]) -> Value:
    """Sum over the index that is None in both."""
    depth = site.shape_of(a)[one.index(None)]

    def at(inner: list[Index]) -> Value:
        x = site.at(a, [inner[0] if i is None else i for i in one])
        y = site.at(b, [inner[0] if i is None else i for i in other])
        return mul(apply(site.kind, x), apply(site.kind, y))

    return scaled(over(site, "sum", [depth], at, "k"))


def scaled(total: Value) -> Value:
    """A sum of products with what is the same for all elements of a factor behind the sum: tensor cores then have the tensor
    as it is, and it is multiplied once."""
    body = total.body if isinstance(total, Reduce) and total.kind == "float" else None
    if not isinstance(total, Reduce) or not isinstance(body, Apply) or body.function != "mul":
        return total
    scales: list[Value] = []
    one, two = (_unscaled(factor, scales) for factor in body.children())
    found: Value = reduce("sum", total.axes, mul(one, two))
    for scale in scales:
        found = mul(found, scale)
    return found


def _unscaled(factor: Value, scales: list[Value]) -> Value:
    while isinstance(factor, Apply) and factor.function == "mul":
        one, two = factor.children()
        if two.free and one.free:
            break
        scale, factor = (one, two) if not one.free else (two, one)
        scales.append(scale)
    return factor


def matmul(site: Site) -> Value:
    a, b = site.arg(0), site.arg(1)
    return _product(site, a, b, *_matrix_index(site, a, b, site.index))


def _matrix_index(
    site: Site, a: Any, b: Any, index: tuple[Index, ...]
) -> tuple[list[Index | None], list[Index | None]]:
    ranks = len(site.shape_of(a)), len(site.shape_of(b))
    if ranks == (1, 1):
        return [None], [None]
    if ranks == (2, 1):
        return [index[0], None], [None]
    *batch, row, column = index
    if len(batch) + 2 != max(ranks) or ranks[0] != ranks[1]:
        raise NotLowered("a product of tensors of different ranks")
    return [*batch, row, None], [*batch, None, column]


def add_product(site: Site) -> Value:
    base, a, b = site.arg(0), site.arg(1), site.arg(2)
    alpha, beta = site.node.kwargs.get("alpha", 1), site.node.kwargs.get("beta", 1)
    found = _product(site, a, b, *_matrix_index(site, a, b, site.index))
    found = found if alpha == 1 else mul(found, f(alpha))  # type: ignore[arg-type]
    more = site.float_operand(base)
    return add(found, more if beta == 1 else mul(more, f(beta)))  # type: ignore[arg-type]


def linear(site: Site) -> Value:
    x, weight, bias = site.arg(0), site.arg(1), site.arg(2, "bias")
    found = _product(site, x, weight, [*site.index[:-1], None], [site.index[-1], None])
    return found if bias is None else add(found, apply("float", site.at(bias, [site.index[-1]])))


def spread(value: Any, count: int) -> list[int]:
    listed = list(value) if isinstance(value, list) else [value]
    return listed * count if len(listed) == 1 else listed


def met(where: Sequence[Index], inner: Sequence[Index], steps: Sequence[Sequence[int]]) -> list[Index]:
    """Where a window's element lies, of the window at `where`: strides, dilations and paddings, a number for each dim."""
    return [
        spot.times(Size.of(s)) + k.times(Size.of(d)).shifted(-Size.of(p))
        for spot, k, s, d, p in zip(where, inner, *steps, strict=True)
    ]


def convolution(site: Site) -> Value:
    x, weight, bias, stride, padding, dilation, transposed, _, groups = (site.arg(i) for i in range(9))
    found = (transposed_convolved if transposed else convolved)(site, x, weight, stride, padding, dilation, groups)
    return found if bias is None else add(found, apply("float", site.at(bias, [site.index[1]])))


def convolved(site: Site, x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Value:
    sample, channel, *where = site.index
    filters, inside, *window = site.shape_of(weight)
    own = site.shape_of(x)
    group = group_of(channel, filters, groups)

    def at(inner: list[Index]) -> Value:
        places = met(where, inner[1:], [spread(v, len(where)) for v in (stride, dilation, padding)])
        value = apply("float", site.at(x, [sample, group.times(inside) + inner[0], *places]))
        value = guard(tuple(zip(places, own[2:], strict=True)), value, number(0.0))
        return mul(value, apply("float", site.at(weight, [channel, *inner])))

    return over(site, "sum", [inside, *window], at, "k")


def group_of(channel: Index, filters: Size, groups: int) -> Index:
    if groups == 1:
        return Index()
    each = filters.over(Size.of(groups))
    if each is None:
        raise NotLowered("groups that do not divide the filters")
    return digits(channel, [Size.of(groups), each])[0]


def transposed_convolved(
    site: Site, x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Value:
    """Each output gathers from the inputs that reach it."""
    sample, channel, *where = site.index
    inside, filters, *window = site.shape_of(weight)
    own = site.shape_of(x)
    each = inside.over(Size.of(groups))
    if each is None:
        raise NotLowered("groups that do not divide the channels")
    group = group_of(channel, filters * Size.of(groups), groups)
    local = channel if groups == 1 else digits(channel, [Size.of(groups), filters])[1]
    steps = [spread(v, len(where)) for v in (stride, dilation, padding)]

    def at(inner: list[Index]) -> Value:
        def read(places: list[Index]) -> Value:
            return apply("float", site.at(x, [sample, group.times(each) + inner[0], *places]))

        value = reached(where, inner[1:], steps, own[2:], read)
        return mul(value, apply("float", site.at(weight, [group.times(each) + inner[0], local, *inner[1:]])))

    return over(site, "sum", [each, *window], at, "k")


def reached(
    where: Sequence[Index], inner: Sequence[Index], steps: Sequence[Sequence[int]], extents: Sequence[Size],
    read: Callable[[list[Index]], Value],
) -> Value:  # fmt: skip
    """What lies where a window's element `inner` reaches `where` from: strides, dilations and paddings lead to a place that
    is there, or to nothing; to nothing where the distance is no multiple of the stride."""
    places, hit = [], None
    for at, k, s, d, p in zip(where, inner, *steps, strict=True):
        far = (at + k.times(Size.of(-d))).shifted(Size.of(p))
        spot = far if s == 1 else Index.of(Quotient(far, Size.of(s)))
        if s != 1:
            exact = apply("eq", place(spot.times(Size.of(s))), place(far))
            hit = exact if hit is None else apply("and", hit, exact)
        places.append(spot)
    value = guard(tuple(zip(places, extents, strict=True)), read(places), number(0.0))
    return value if hit is None else apply("where", hit, value, number(0.0))


def windows(site: Site, count: int, first: int) -> tuple[list[int], list[int], list[int]]:
    size = spread(site.arg(first, "kernel_size"), count)
    stride = spread(site.arg(first + 1, "stride") or size, count)
    return size, stride, spread(site.arg(first + 2, "padding", 0), count)


def average_pool(site: Site) -> Value:
    source = site.arg(0)
    own = site.shape_of(source)
    count = len(own) - 2 if site.node.op.split(".")[1][8] != "1" else 1
    size, stride, padding = windows(site, count, 1)
    ceil, include, divisor = (
        site.arg(4, "ceil_mode", False),
        site.arg(5, "count_include_pad", True),
        site.arg(6, "divisor_override"),
    )
    outer, where = list(site.index[:-count]), site.index[-count:]

    def places(inner: list[Index]) -> list[Index]:
        return [
            at.times(Size.of(s)) + k.shifted(Size.of(-p))
            for at, k, s, p in zip(where, inner, stride, padding, strict=True)
        ]

    def bounds(inner: list[Index]) -> tuple[tuple[Index, Size], ...]:
        return tuple(zip(places(inner), own[-count:], strict=True))

    def at(inner: list[Index]) -> Value:
        return guard(bounds(inner), apply("float", site.at(source, [*outer, *places(inner)])), number(0.0))

    def counted(inner: list[Index]) -> tuple[tuple[Index, Size], ...]:
        """The border belongs to a window, what lies beyond it does not."""
        if not include:
            return bounds(inner)
        shifted = zip(places(inner), own[-count:], padding, strict=True)
        return tuple((i.shifted(Size.of(p)), e + Size.of(2 * p)) for i, e, p in shifted)

    extents = [Size.of(s) for s in size]
    total = over(site, "sum", extents, at, "k")
    if divisor is not None:
        return div(total, f(divisor))
    if not ceil and (include or not any(padding)):
        return div(total, apply("float", place(Index.of(product_of(extents)))))
    return div(total, over(site, "sum", extents, lambda inner: guard(counted(inner), f(1), f(0)), "n"))


def max_pool(site: Site) -> Value:
    source = site.arg(0)
    own = site.shape_of(source)
    count = int(site.node.op.split(".")[1][8])
    size, stride, padding = windows(site, count, 1)
    dilation = spread(site.arg(4, "dilation", 1), count)
    outer, where = list(site.index[:-count]), site.index[-count:]

    def at(inner: list[Index]) -> Value:
        places = met(where, inner, (stride, dilation, padding))
        inside = tuple(zip(places, own[-count:], strict=True))
        return guard(inside, site.at(source, [*outer, *places]), number(float("-inf")))

    extents = [Size.of(s) for s in size]
    if site.part == 0:
        return over(site, "max", extents, at, "k")
    found = over(site, "argmax", extents, at, "k")
    return _place_of(
        found,
        size,
        [i.times(Size.of(s)).shifted(Size.of(-p)) for i, s, p in zip(where, stride, padding, strict=True)],
        dilation,
        own[-count:],
    )


def _place_of(
    found: Value, size: Sequence[int], first: Sequence[Index], dilation: Sequence[int], extents: Sequence[Size]
) -> Value:
    """Where in its plane the element of a window lies that is the so-and-so-many'th of it."""
    whole = None
    for dim, (begin, d, extent) in enumerate(zip(first, dilation, extents, strict=True)):
        behind = math.prod(size[dim + 1 :])
        own = apply("rem", apply("quot", found, number(behind)), number(size[dim]))
        here = apply("add", place(begin), apply("mul", own, number(d)))
        whole = here if whole is None else apply("add", apply("mul", whole, place(Index.of(extent))), here)
    assert whole is not None
    return whole


def distance(site: Site) -> Value:
    """Of every row of one matrix to every row of the other."""
    a, b, order = site.arg(0), site.arg(1), float(site.arg(2, "p", 2.0))
    *batch, row, column = site.index

    def at(inner: list[Index]) -> Value:
        x, y = site.at(a, [*batch, row, *inner]), site.at(b, [*batch, column, *inner])
        apart = sub(apply("float", x), apply("float", y))
        return mul(apart, apart) if order == 2 else apply("abs", apart)

    depth = site.shape_of(a)[-1:]
    if order == 2:
        return apply("sqrt", over(site, "sum", depth, at, "k"))
    if order in (1, float("inf")):
        return over(site, "sum" if order == 1 else "max", depth, at, "k")
    powers = over(site, "sum", depth, lambda inner: power(at(inner), f(order)), "k")
    return power(powers, f(1 / order))


RULES: dict[str, Rule] = {
    "mm": matmul, "bmm": matmul, "mv": matmul, "dot": matmul, "matmul": matmul, "addmm": add_product,
    "baddbmm": add_product, "addmv": add_product, "linear": linear, "convolution": convolution,
    "avg_pool1d": average_pool, "avg_pool2d": average_pool, "avg_pool3d": average_pool,
    "max_pool1d_with_indices": max_pool, "max_pool2d_with_indices": max_pool, "max_pool3d_with_indices": max_pool,
    "_cdist_forward": distance, "cdist": distance, "vdot": matmul,
}  # fmt: skip
