"""Indices that another rounding could have chosen otherwise, and what is read or written by them."""

from __future__ import annotations

import math
from typing import Any

from kernellab.graph.ops.pairs import Call, Pair, Scaled, Tensor
from kernellab.graph.ops.rules import jump, linear, same, same_open
from kernellab.graph.ops.sent import moved, reached


def unsure(value: Tensor, reach: Tensor, dim: int) -> Tensor:
    """Of elements that are put in order along a dim: those that may change places with another one."""
    if not value.dim():
        return value != value
    order = value.sort(dim).indices
    low, high = ((value + sign * reach).gather(dim, order) for sign in (-1, 1))
    above = low.flip(dim).cummin(dim).values.flip(dim).roll(-1, dim)  # the least that a later one may be
    below = high.cummax(dim).values.roll(1, dim)
    above.narrow(dim, value.shape[dim] - 1, 1).fill_(math.nan)
    below.narrow(dim, 0, 1).fill_(math.nan)
    crossed = (high >= above) | (low <= below)
    return crossed.scatter(dim, order, crossed)


def read(call: Call) -> Scaled:
    """Elements by index: where that is open, any that there is may stand."""
    plain, x = same_open(call), call.args[0]
    if not any(bool(p.scale.any()) for p in call.pairs() if p is not x):
        return plain
    open_, values = _read_otherwise(call, x), x.value.double()
    finite = values[values.isfinite()]
    if not finite.numel() or not bool(open_.any()):
        return plain
    found = call.result.double()
    away = (found - finite.min()).abs().maximum((finite.max() - found).abs()) * open_
    (scale,) = plain.scales
    if not x.is_float:
        return Scaled((away.maximum(scale),), exact=True)
    step = (jump(call, away) + x.scale.amax() * open_).nan_to_num(math.inf)  # the furthest is rounded later, as all are
    return Scaled((step.maximum(scale),))


def _read_otherwise(call: Call, x: Pair) -> Tensor:
    """1 where an open index leads to something else when it is turned; 0 elsewhere."""
    count = call.torch.arange(x.value.numel(), device=x.value.device).double().reshape(x.value.shape)
    found = [call.run(_indexed(call, count, turned), call.kwargs) for turned in (False, True)]
    return (found[0] != found[1]).double()


def _indexed(call: Call, values: Tensor, turned: bool) -> list[Any]:
    """The arguments over other values; `turned`: every open index is the next one."""
    shape = values.shape

    def index(pair: Pair, dim: int) -> Tensor:
        if not turned or pair.value.dtype == call.torch.bool:
            return pair.value
        return ((pair.value + 1) % shape[dim]).where(pair.scale > 0, pair.value)

    first, *rest = call.args[1:]
    if isinstance(first, list | tuple):
        return [values, [i and index(i, d) for d, i in enumerate(first)], *rest]
    if isinstance(first, Pair):  # an embedding
        return [values, index(first, 0), *rest]
    return [values, first, index(rest[0], first), *rest[1:]]


def written(call: Call) -> Scaled:
    """Elements put to places: where an index is open, what it may have been put to instead is open too."""
    plain, (base, dim, index) = _put(call), call.args[:3]
    if not bool(index.scale.any()):
        return plain
    source = call.argument(3, "src", call.kwargs.get("value", 0.0))
    ends = [(float(v.min()), float(v.max())) for v in _finite(base, source)]
    low, high = min(e[0] for e in ends), max(e[1] for e in ends)
    result, scale = call.result.double(), plain.scales[0]
    assert scale is not None, "of what is written"
    away = (result - low).abs().maximum((high - result).abs())
    places = _places(call, base, dim, index)
    if not base.is_float:
        return Scaled((scale.maximum(away * places),), exact=True)
    widest = max(float(p.scale.amax()) for p in call.floats())
    step = (jump(call, away) + widest).nan_to_num(math.inf) * places
    return Scaled((step.maximum(scale),))


def _put(call: Call) -> Scaled:
    """The scales where the elements go; of integers and booleans, what is open."""
    base, (source, *_) = call.args[0], [*call.args[3:], *call.kwargs.values()]
    if base.is_float:
        return same(call)
    put = source.scale if isinstance(source, Pair) else 0
    moved = call.run([base.scale, *call.args[1:3], put], {})
    return Scaled((moved,), exact=True)


def _finite(base: Pair, source: Any) -> list[Tensor]:
    """What may stand somewhere, and zero."""
    own = base.value.double()
    values = [own, source.value.double() if isinstance(source, Pair) else own * 0 + source]
    return [own.new_zeros(1), *(f for v in values if (f := v[v.isfinite()]).numel())]


def _places(call: Call, base: Pair, dim: int, index: Pair) -> Tensor:
    """1 where something else may stand: of what was ordered, where that is unsure; else where an open index may lead."""
    choice = index.choice
    if choice is not None and choice.distinct and choice.source.value.shape == base.value.shape and choice.dim == dim:
        return unsure(choice.source.value, choice.reach, dim).double()
    return reached(call, index)


def added(call: Call) -> Scaled:
    """Sums by index: what an open one adds may go where that may lead."""
    plain = linear()(call)
    indices = [p for p in call.pairs() if not p.is_float and bool(p.scale.any())]
    if not indices:
        return plain
    given, (scale, *_) = call.floats()[-1].value.abs(), plain.scales
    return Scaled((jump(call, moved(call, given, indices)) + scale,), plain.terms)
