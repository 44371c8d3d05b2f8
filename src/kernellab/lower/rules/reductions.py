"""Sums, means, extremes and what is made of them: norms, softmax, scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernellab.graph.record import Ref
from kernellab.lower.axes import Axis, Index, digits
from kernellab.lower.rules.pointwise import add, div, exp, f, mul, power, sub
from kernellab.lower.site import NotLowered, Rule, Site, dims
from kernellab.lower.sizes import Size, product_of
from kernellab.lower.values import NEUTRAL, Value, apply, number, place, reduce

Body = Callable[[list[Index]], Value]


def over(site: Site, how: str, extents: Sequence[Size], body: Body, hint: str = "r") -> Value:
    """A reduction over fresh axes of these extents."""
    indices: list[Index] = []
    axes: tuple[Axis, ...] = ()
    for count, extent in enumerate(extents):
        index, made = site.fresh(f"{hint}{count}", extent)
        indices.append(index)
        axes += made
    return reduce(how, axes, body(indices)) if axes else body(indices)


def _whole(site: Site, source: Ref, gone: Sequence[int], keep: bool, index: Sequence[Index]) -> list[Index | None]:
    """The index in the source that an index of the result belongs to; None for each dim that is reduced."""
    rank = len(site.shape_of(source))
    left = iter(index)
    found: list[Index | None] = []
    for dim in range(rank):
        if dim in gone:
            found.append(None)
            if keep:
                next(left)
        else:
            found.append(next(left))
    return found


def _filled(pattern: Sequence[Index | None], inner: list[Index]) -> list[Index]:
    left = iter(inner)
    return [next(left) if i is None else i for i in pattern]


class _Reduced:
    """(x, dims, keepdim) as most reductions have them."""

    def __init__(self, site: Site, dim: Any, keep: bool) -> None:
        self.site, self.source = site, site.arg(0)
        own = site.shape_of(self.source)
        self.gone = dims(dim, len(own))
        self.extents = [own[d] for d in self.gone]
        self.pattern = _whole(site, self.source, self.gone, keep, site.index)

    @property
    def count(self) -> Value:
        return _count(self.extents)

    def over(self, how: str, body: Callable[[Value], Value] = lambda v: v, hint: str = "r") -> Value:
        return over(
            self.site, how, self.extents,
            lambda inner: body(self.site.at(self.source, _filled(self.pattern, inner))), hint,
        )  # fmt: skip

    def mean(self, body: Callable[[Value], Value] = lambda v: v, hint: str = "m") -> Value:
        return div(self.over("sum", lambda v: body(apply("float", v)), hint), self.count)

    def variance(self, correction: float) -> Value:
        mean = self.mean()
        squares = self.over("sum", lambda v: _square(sub(apply("float", v), mean)), "v")
        return div(squares, sub(self.count, f(correction)) if correction else self.count)


def _square(x: Value) -> Value:
    return mul(x, x)


def _as_given(site: Site) -> _Reduced:
    dim = site.arg(1, "dim")
    if isinstance(dim, bool):
        raise NotLowered(f"{site.node.op} with {site.node.args}")
    return _Reduced(site, dim, bool(site.arg(2, "keepdim", False)))


def total(site: Site) -> Value:
    found = _as_given(site)
    return found.over("sum", lambda v: apply(site.kind, v))


def mean(site: Site) -> Value:
    return _as_given(site).mean()


def extreme(how: str) -> Rule:
    return lambda site: _as_given(site).over(how)


def extreme_at(how: str) -> Rule:
    """max.dim: the value and the first place of it."""

    def rule(site: Site) -> Value:
        return _as_given(site).over(how if site.part == 0 else f"arg{how}")

    return rule


def arg(how: str) -> Rule:
    def rule(site: Site) -> Value:
        source, dim = site.arg(0), site.arg(1, "dim")
        if dim is None:
            own = site.shape_of(source)
            return over(site, how, [product_of(own)], lambda inner: site.at(source, digits(inner[0], own)))
        return _as_given(site).over(how)

    return rule


def variance(site: Site) -> Value:
    dim = site.arg(1, "dim")
    correction = site.arg(2, "correction", 1)
    if isinstance(correction, bool):
        correction = int(correction)
    found = _Reduced(site, dim, bool(site.node.kwargs.get("keepdim", False)))
    if site.part == 1:
        return found.mean()
    return found.variance(1.0 if correction is None else float(correction))


def norm(site: Site) -> Value:
    order = float(site.arg(1, "ord", 2))
    found = _Reduced(site, site.arg(2, "dim"), bool(site.arg(3, "keepdim", False)))
    if order == 2:
        return apply("sqrt", found.over("sum", lambda v: _square(apply("float", v))))
    if order == 1:
        return found.over("sum", lambda v: apply("abs", v))
    if order == float("inf"):
        return found.over("max", lambda v: apply("abs", v))
    if order == 0:
        return found.over("sum", lambda v: apply("float", apply("ne", apply("float", v), f(0))))
    if order == float("-inf"):
        return found.over("min", lambda v: apply("abs", v))
    return power(found.over("sum", lambda v: power(apply("abs", apply("float", v)), f(order))), f(1 / order))


def any_all(how: str) -> Rule:
    def rule(site: Site) -> Value:
        found = _as_given(site).over(how, lambda v: apply("int", apply("ne", apply("float", v), f(0))))
        return apply("ne", found, number(0))

    return rule


def _count(extents: Sequence[Size]) -> Value:
    return apply("float", place(Index.of(product_of(extents))))


def _floats(site: Site, pattern: Sequence[Index | None]) -> Body:
    """The first argument, at what the pattern leaves open."""
    return lambda inner: apply("float", site.at(site.arg(0), _filled(pattern, inner)))


def layer_norm(site: Site) -> Value:
    own, (shape, weight, bias, eps) = site.shape_of(site.arg(0)), (site.arg(i) for i in range(1, 5))
    inner = range(len(own) - len(shape), len(own))
    at = _floats(site, [None if d in inner else site.index[d] for d in range(len(own))])
    return _normalised(site, [own[d] for d in inner], at, eps, (weight, bias), inner)


def _normalised(
    site: Site, extents: Sequence[Size], at: Body, eps: float, affine: tuple[Any, Any], channels: Sequence[int]
) -> Value:
    """(x - mean) / deviation over these extents, then weight and bias of the channels. The other parts are the two."""
    mean = div(over(site, "sum", extents, at, "m"), _count(extents))
    if site.part == 1:
        return mean
    spread = div(over(site, "sum", extents, lambda inner: _square(sub(at(inner), mean)), "v"), _count(extents))
    deviation = apply("rsqrt", add(spread, f(eps)))
    if site.part == 2:
        return deviation
    x = apply("float", site.at(site.arg(0), site.index))
    return _affine(site, mul(sub(x, mean), deviation), affine, [site.index[d] for d in channels])


def _affine(site: Site, y: Value, affine: tuple[Any, Any], index: list[Index]) -> Value:
    weight, bias = affine
    y = y if weight is None else mul(y, apply("float", site.at(weight, index)))
    return y if bias is None else add(y, apply("float", site.at(bias, index)))


def group_norm(site: Site) -> Value:
    source, weight, bias, _, channels, _, groups, eps = (site.arg(i) for i in range(8))
    each = Size.of(channels).over(Size.of(groups)) or Size.of(f"({Size.of(channels).text}) // {groups}")
    sample, group = site.index[:2]
    if site.part == 0:
        group = digits(group, [Size.of(groups), each])[0]

    def at(inner: list[Index]) -> Value:
        return apply("float", site.at(source, [sample, group.times(each) + inner[0], *inner[1:]]))

    return _normalised(site, [each, *site.shape_of(source)[2:]], at, eps, (weight, bias), [1])


def batch_norm_given(site: Site, last: int = 6) -> Value:
    """With statistics that are inputs. `last`: where what is added to the variance stands."""
    source, weight, bias, mean, var, eps = (site.arg(i) for i in (0, 1, 2, 3, 4, last))
    if site.part:
        raise NotLowered("statistics that batch norm hands on")
    channel = [site.index[1]]
    x = apply("float", site.at(source, site.index))
    deviation = apply("rsqrt", add(apply("float", site.at(var, channel)), f(eps)))
    y = mul(sub(x, apply("float", site.at(mean, channel))), deviation)
    return _affine(site, y, (weight, bias), channel)


def batch_norm(site: Site) -> Value:
    """With the batch's own statistics."""
    source, weight, bias = (site.arg(i) for i in range(3))
    own, eps = site.shape_of(source), site.arg(len(site.node.args) - 1)
    channel = site.index[0] if site.part else site.index[1]
    at = _floats(site, [None, channel, *(None for _ in own[2:])])
    return _normalised(site, [own[0], *own[2:]], at, eps, (weight, bias), [1])


def batch_norm_either(site: Site) -> Value:
    return batch_norm(site) if site.arg(5) else batch_norm_given(site, 7)


def rms_norm(site: Site) -> Value:
    own, (shape, weight, eps) = site.shape_of(site.arg(0)), (site.arg(i) for i in range(1, 4))
    inner = range(len(own) - len(shape), len(own))
    extents = [own[d] for d in inner]
    at = _floats(site, [None if d in inner else site.index[d] for d in range(len(own))])
    squares = over(site, "sum", extents, lambda index: _square(at(index)), "m")
    factor = apply("rsqrt", add(div(squares, _count(extents)), f(2.0**-23 if eps is None else eps)))
    if site.part == 1:
        return factor
    x = apply("float", site.at(site.arg(0), site.index))
    return _affine(site, mul(x, factor), (weight, None), [site.index[d] for d in inner])


class _Soft:
    """Along some dims: their largest element, and the sum of the exponentials below it."""

    def __init__(self, site: Site, along: Sequence[int], index: Sequence[Index]) -> None:
        own = site.shape_of(site.arg(0))
        gone = [d % len(own) for d in along]
        extents = [own[d] for d in gone]
        at = _floats(site, [None if d in gone else i for d, i in enumerate(index)])
        self.top = over(site, "max", extents, at, "t")
        self.sum = over(site, "sum", extents, lambda inner: exp(sub(at(inner), self.top)), "s")


def softmax(site: Site) -> Value:
    soft = _Soft(site, [site.arg(1)], site.index)
    return div(exp(sub(site.float_operand(site.arg(0)), soft.top)), soft.sum)


def log_softmax(site: Site) -> Value:
    soft = _Soft(site, [site.arg(1)], site.index)
    return sub(sub(site.float_operand(site.arg(0)), soft.top), apply("log", soft.sum))


def logsumexp(site: Site) -> Value:
    source, listed = site.arg(0), site.arg(1)
    own = site.shape_of(source)
    gone = dims(listed, len(own))
    pattern = _whole(site, source, gone, bool(site.arg(2, "keepdim", False)), site.index)
    soft = _Soft(site, gone, [Index() if i is None else i for i in pattern])
    return add(apply("log", soft.sum), soft.top)


def cumulative(how: str) -> Rule:
    """As a reduction over everything up to its place: forms for scans know it by that."""

    def rule(site: Site) -> Value:
        source, dim = site.arg(0), site.arg(1) % max(1, len(site.index))
        if site.part or (site.kind != "float" and how in ("max", "min")):
            raise NotLowered(f"{site.node.op} of whole numbers, or their places")
        if not site.index:
            return apply(site.kind, site.at(source, ()))
        own = site.shape_of(source)

        def at(inner: list[Index]) -> Value:
            index = [inner[0] if d == dim else i for d, i in enumerate(site.index)]
            x = apply(site.kind, site.at(source, index))
            neutral = number(NEUTRAL[how] if site.kind == "float" else int(NEUTRAL[how]))
            return apply("where", apply("le", place(inner[0]), place(site.index[dim])), x, neutral)

        return over(site, how, [own[dim]], at)

    return rule


def product_all(site: Site) -> Value:
    return _as_given(site).over("prod", lambda v: apply(site.kind, v))


RULES: dict[str, Rule] = {
    "sum": total, "mean": mean, "prod": product_all, "var": variance, "var_mean": variance, "linalg_vector_norm": norm,
    "amax": extreme("max"), "amin": extreme("min"), "max": extreme("max"), "min": extreme("min"),
    "max.dim": extreme_at("max"), "min.dim": extreme_at("min"), "argmax": arg("argmax"), "argmin": arg("argmin"),
    "any": any_all("max"), "all": any_all("min"),
    "native_layer_norm": layer_norm, "native_group_norm": group_norm, "_fused_rms_norm": rms_norm,
    "_native_batch_norm_legit_no_training": batch_norm_given, "_native_batch_norm_legit": batch_norm,
    "_native_batch_norm_legit_functional": batch_norm, "native_batch_norm": batch_norm_either,
    "_softmax": softmax, "_log_softmax": log_softmax, "logsumexp": logsumexp,
    "cumsum": cumulative("sum"), "cumprod": cumulative("prod"), "cummax": cumulative("max"), "cummin": cumulative("min"),
}  # fmt: skip
