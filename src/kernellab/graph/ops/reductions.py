"""Sums, means, products, extremes, and which element was the extreme one."""

from __future__ import annotations

from kernellab.graph.ops import algebra
from kernellab.graph.ops.pairs import Call, Choice, Pair, Scaled, Tensor
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.rules import counted_whole, either, monotone
from kernellab.graph.ops.shapes import drop_dim_pair, drop_dims, drop_dims_of_norm, drop_dims_pair


def _reduced(call: Call) -> float:
    """How many elements go into one."""
    return float(call.args[0].value.numel() / max(1, call.result.numel()))


def summed(call: Call) -> Scaled:
    """A sum or a mean: the same of the scales."""
    x: Pair = call.args[0]
    dims = call.argument(1, "dim")
    over = list(range(x.value.dim())) if dims is None or dims == [] else dims
    return Scaled((call.apply(lambda p: p.scale)[0].abs(),), algebra.terms_of(x.value, over))


def prod(call: Call) -> Scaled:
    """What each factor's scale does to the product: the others' product times it."""
    x: Pair = call.args[0]
    size = x.value.abs().maximum(call.eps * x.scale)
    product = call.run([size, *call.args[1:]], call.kwargs)
    relative = (x.scale / size).nan_to_num(0.0)
    dim = call.argument(1, "dim")
    if dim is None or isinstance(dim, bool):
        total = relative.sum()
    else:
        total = relative.sum(dim, keepdim=bool(call.argument(2, "keepdim", False)))
    return Scaled((product * total,), _reduced(call))


def variance(call: Call) -> Scaled:
    """Of var_mean both, of var the first: the mean square of what is left without the mean."""
    x: Pair = call.args[0]
    dims = call.argument(1, "dim")
    keep = bool(call.kwargs.get("keepdim", False))
    mean = algebra.mean(x, dims, True)
    spread = algebra.mean(algebra.square(algebra.sub(x, mean)), dims, keep)
    correction = (spread.value.nan_to_num(0.0) * 0 + call.results[0]) / spread.value
    scale = spread.scale * correction.nan_to_num(1.0).abs().clamp(min=1.0)  # where both are hardly more than rounding
    centres = [None if r is None else mean.scale.reshape(r.shape) for r in call.results[1:]]
    return Scaled((scale, *centres), spread.terms)


def vector_norm(call: Call) -> Scaled:
    x: Pair = call.args[0]
    order = float(call.argument(1, "ord", 2))
    dims, keep = call.argument(2, "dim"), bool(call.argument(3, "keepdim", False))
    if order in (float("inf"), float("-inf"), 0.0):
        return Scaled((call.result.abs(),))
    size = x.value.abs()
    each = (size ** (order - 1) * x.scale).nan_to_num(0.0, 0.0)
    total = each.sum(dims, keepdim=keep) if dims is not None else each.sum()
    whole = (total / call.result ** (order - 1)).nan_to_num(0.0, 0.0)
    over = dims if dims is not None else list(range(x.value.dim()))
    return Scaled((whole.maximum(call.result.abs()),), algebra.terms_of(size**order, over))


def _winner(call: Call, largest: bool, dim: int | None, keepdim: bool) -> Choice:
    x: Pair = call.args[0]
    x = x if x.is_float else Pair(x.value.double(), x.scale, x.terms, x.exact)  # booleans have no difference
    flat = Pair(x.value.reshape(-1), x.scale.reshape(-1), x.terms, x.exact) if dim is None else x
    axis = 0 if dim is None else dim
    best = flat.value.amax(axis, keepdim=True) if largest else flat.value.amin(axis, keepdim=True)
    reach = call.reach(call.args[0]).reshape(flat.value.shape)
    return Choice(flat, axis, best, keepdim and dim is not None, reach)


def _extreme_whole(call: Call) -> Scaled:
    """Of integers: off by no more than the worst of those that it is chosen from."""
    open_, dims = call.args[0].scale, call.argument(1, "dim")
    worst = (
        open_.amax(dims, keepdim=bool(call.argument(2, "keepdim", False))) if dims not in (None, []) else open_.amax()
    )
    return Scaled((call.result.double() * 0 + worst,), exact=True)


def _off(choice: Choice, index: Tensor) -> Tensor:
    """How far from this index others lie that may be the winner's too."""
    far = (choice.source.value - choice.best).abs()
    near = far <= choice.reach + choice.reach.amax(choice.dim, keepdim=True)
    places = (far.nan_to_num(0.0, 0.0) * 0 + 1).cumsum(choice.dim) - 1
    away = (places - index.reshape(choice.best.shape).double()).abs()
    return away.where(near, away * 0).amax(choice.dim).reshape(index.shape)


def arg(largest: bool):  # type: ignore[no-untyped-def]
    def rule(call: Call) -> Scaled:
        dim, keep = call.argument(1, "dim"), bool(call.argument(2, "keepdim", False))
        choice = _winner(call, largest, dim, keep)
        return Scaled((_off(choice, call.result),), choices={0: choice})

    return rule


def extreme_dim(largest: bool):  # type: ignore[no-untyped-def]
    """max.dim and min.dim: the value and its index."""

    def rule(call: Call) -> Scaled:
        moved = monotone(call)
        choice = _winner(call, largest, call.args[1], bool(call.argument(2, "keepdim", False)))
        return Scaled((moved.scales[0], _off(choice, call.results[1])), exact=moved.exact, choices={1: choice})

    return rule


ROWS: list[Op] = [
    *ops("sum", "reduction", either(summed, counted_whole), drop_dims, linear=True),
    *ops("mean", "reduction", summed, drop_dims, linear=True),
    *ops("prod", "reduction", either(prod), drop_dims),
    *ops("var", "reduction", variance, drop_dims),
    *ops("var_mean", "reduction", variance, drop_dims_pair),
    *ops("linalg_vector_norm", "reduction", vector_norm, drop_dims_of_norm),
    *ops("amax amin max.default min.default", "reduction", either(monotone, _extreme_whole), drop_dims),
    *ops("argmax", "arg", arg(True), drop_dims),
    *ops("argmin", "arg", arg(False), drop_dims),
    *ops("max.dim", "reduction", extreme_dim(True), drop_dim_pair),
    *ops("min.dim", "reduction", extreme_dim(False), drop_dim_pair),
]
