"""Images made larger or smaller, and their borders: places that are computed, and weights between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernellab.lower.axes import Index, digits
from kernellab.lower.rules.layout import spot
from kernellab.lower.rules.pointwise import add, div, f, mul, sub
from kernellab.lower.rules.reductions import over
from kernellab.lower.site import NotLowered, Rule, Site
from kernellab.lower.sizes import ONE, Size
from kernellab.lower.values import Value, apply, number, place, size_value


def _spatial(site: Site) -> tuple[list[Index], list[Index], list[Size], list[Size]]:
    """Indices before the image and in it, the image's sizes before and after."""
    own, made = site.shape_of(site.arg(0)), site.shape
    return list(site.index[:2]), list(site.index[2:]), own[2:], made[2:]


def _scales(site: Site, count: int) -> list[float | None]:
    """How many times larger each side becomes, where that is stated."""
    stated = site.arg(len(site.node.args) - 1)
    if isinstance(stated, list) and len(stated) == count and all(isinstance(s, float) for s in stated):
        return stated
    return [None] * count


def nearest(exact: bool) -> Rule:
    def rule(site: Site) -> Value:
        outer, where, own, made = _spatial(site)
        found = list(outer)
        for i, before, after in zip(where, own, made, strict=True):
            times = after.over(before)
            if times is not None and not exact:
                found.append(i if times == ONE else digits(i, [before, times])[0])
                continue
            real = apply("float", place(i)) if not exact else add(apply("float", place(i)), f(0.5))
            ratio = div(apply("float", size_value(before)), apply("float", size_value(after)))
            found.append(_clipped(apply("int", apply("floor", mul(real, ratio))), before))
        return site.at(site.arg(0), found)

    return rule


def _clipped(value: Value, extent: Size) -> Index:
    return spot(apply("min", value, size_value(extent - ONE)), extent)


def linear(site: Site) -> Value:
    """Between two neighbours on every side, by how near each is."""
    outer, where, own, made = _spatial(site)
    align = bool(site.arg(2, "align_corners", False))
    sides = [
        _between(i, before, after, align, scale)
        for i, before, after, scale in zip(where, own, made, _scales(site, len(own)), strict=True)
    ]

    def at(chosen: list[Index], left: list[tuple[Index, Index, Value]]) -> Value:
        if not left:
            return apply("float", site.at(site.arg(0), chosen))
        low, high, share = left[0]
        below, above = at([*chosen, low], left[1:]), at([*chosen, high], left[1:])
        return add(mul(sub(f(1), share), below), mul(share, above))

    return at(outer, sides)


def _between(i: Index, before: Size, after: Size, align: bool, scale: float | None) -> tuple[Index, Index, Value]:
    """The two places, and how far along it lies between them."""
    own, sizes = apply("float", place(i)), [apply("float", size_value(s)) for s in (before, after)]
    if align:
        steps = apply("max", sub(sizes[1], f(1)), f(1))
        real = mul(own, div(sub(sizes[0], f(1)), steps))
    else:
        ratio = div(sizes[0], sizes[1]) if scale is None else f(1 / scale)
        real = apply("max", sub(mul(add(own, f(0.5)), ratio), f(0.5)), f(0))
    low = apply("min", apply("int", apply("floor", real)), size_value(before - ONE))
    high = apply("min", add(low, number(1)), size_value(before - ONE))
    return spot(low, before), spot(high, before), sub(real, apply("float", low))


def border(reflect: bool) -> Rule:
    """Beyond the border: the image mirrored, or its last element again."""

    def rule(site: Site) -> Value:
        amounts = site.arg(1)
        own, index = site.shape_of(site.arg(0)), list(site.index)
        for number_ in range(len(amounts) // 2):
            dim = len(own) - 1 - number_
            where, last = place(index[dim].shifted(-Size.of(amounts[2 * number_]))), size_value(own[dim] - ONE)
            if reflect:
                where = sub(last, apply("abs", sub(last, apply("abs", where))))
            else:
                where = apply("min", apply("max", where, number(0)), last)
            index[dim] = spot(where, own[dim])
        return site.at(site.arg(0), index)

    return rule


def adaptive(how: str) -> Rule:
    """Windows that share the input between them; where that does not come out even, of different lengths."""

    def rule(site: Site) -> Value:
        if site.part:
            raise NotLowered("the places that a pool hands on")
        source = site.arg(0)
        count = 1 if "1d" in site.node.op else 3 if "3d" in site.node.op else 2
        own, made = site.shape_of(source)[-count:], site.shape[-count:]
        outer, where = list(site.index[:-count]), site.index[-count:]
        sides = [_window(i, a, b) for i, a, b in zip(where, own, made, strict=True)]

        def at(inner: list[Index], body: Callable[[list[Index]], Value], other: float) -> Value:
            places, inside = [], None
            for k, (first, length, _), extent in zip(inner, sides, own, strict=True):
                there = apply("lt", place(k), length)
                inside = there if inside is None else apply("and", inside, there)
                places.append(_clipped(add(first, place(k)), extent))
            assert inside is not None
            return apply("where", inside, body(places), f(other))

        def read(places: list[Index]) -> Value:
            return apply("float", site.at(source, [*outer, *places]))

        extents = [most for _, _, most in sides]
        if how == "max":
            return over(site, "max", extents, lambda inner: at(inner, read, float("-inf")), "k")
        total = over(site, "sum", extents, lambda inner: at(inner, read, 0.0), "k")
        for _, length, _ in sides:
            total = div(total, apply("float", length))
        return total

    return rule


def _window(i: Index, own: Size, made: Size) -> tuple[Value, Value, Size]:
    """Where it begins, how long it is, and how long any of them is at most."""
    if made == ONE:
        return number(0), size_value(own), own
    first = apply("quot", place(i.times(own)), size_value(made))
    end = apply("quot", place(i.times(own).shifted(own + made - ONE)), size_value(made))
    whole = own.over(made)
    most = whole if whole is not None else Size.of(f"({own.text} + {made.text} - 1) // ({made.text}) + 1")
    return first, sub(end, first), most


def shuffle(up: bool) -> Rule:
    """Channels become pixels, or pixels channels."""

    def rule(site: Site) -> Value:
        source, factor = site.arg(0), Size.of(site.arg(1))
        *outer, channel, row, column = site.index
        if up:
            (y, dy), (x, dx) = _parts(row, factor, site.shape[-2]), _parts(column, factor, site.shape[-1])
            return site.at(source, [*outer, channel.times(factor * factor) + dy.times(factor) + dx, y, x])
        c, dy, dx = digits(channel, [site.shape_of(source)[-3], factor, factor])
        return site.at(source, [*outer, c, row.times(factor) + dy, column.times(factor) + dx])

    return rule


def _parts(index: Index, by: Size, extent: Size) -> tuple[Index, Index]:
    whole = extent.over(by)
    if whole is None:
        raise NotLowered("a size that its factor does not divide")
    first, second = digits(index, [whole, by])
    return first, second


def _each(name: str, made: Any, dims: str = "123") -> dict[str, Rule]:
    return {name.replace("#", d): made for d in dims}


RULES: dict[str, Rule] = {
    **_each("upsample_nearest#d", nearest(False)), **_each("_upsample_nearest_exact#d", nearest(True)),
    "upsample_linear1d": linear, "upsample_bilinear2d": linear, "upsample_trilinear3d": linear,
    **_each("reflection_pad#d", border(True)), **_each("replication_pad#d", border(False)),
    "adaptive_avg_pool1d": adaptive("mean"), **_each("_adaptive_avg_pool#d", adaptive("mean"), "23"),
    **_each("adaptive_max_pool#d", adaptive("max")),
    "pixel_shuffle": shuffle(True), "pixel_unshuffle": shuffle(False),
}  # fmt: skip
