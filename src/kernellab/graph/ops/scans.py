"""Running sums, products and extremes along a dim."""

from __future__ import annotations

from kernellab.graph.ops import algebra
from kernellab.graph.ops.pairs import Call, Pair, Scaled
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.rules import counted_whole, either, monotone
from kernellab.graph.ops.shapes import like_first, like_first_pair

_FLOAT32 = 2.0**-23


def cumsum(call: Call) -> Scaled:
    """The same of the scales. Looked at are the whole row and its beginnings, each half as long as the one before."""
    x: Pair = call.args[0]
    dim, scale = call.args[1], call.apply(lambda p: p.scale)[0].abs()
    if not x.value.dim():
        return Scaled((scale,), 1.0)
    length, terms = x.value.shape[dim], 0.0
    while length:
        terms = max(terms, algebra.terms_of(x.value.narrow(dim, 0, length), dim))
        length //= 2
    return Scaled((scale,), terms)


def cumprod(call: Call) -> Scaled:
    """|y| times the running sum of each factor's relative scale; a factor near zero counts with what it may be. A product
    that was once too small for its type has lost its digits, or all of itself, however large it becomes again."""
    x: Pair = call.args[0]
    dim = call.args[1]
    size = x.value.abs().maximum(call.eps * x.scale)
    relative, product = (x.scale / size).nan_to_num(0.0).cumsum(dim), size.cumprod(dim)
    least = call.torch.finfo(call.torch.float64 if call.eps < _FLOAT32 / 2 else call.torch.float32).tiny
    lost = (least / call.eps / product.cummin(dim).values).clamp(max=1 / call.eps)
    return Scaled((product * (relative + lost),), float(x.value.shape[dim]) if x.value.dim() else 1.0)


def logcumsumexp(call: Call) -> Scaled:
    x: Pair = call.args[0]
    dim = call.args[1]
    share = (x.value - call.result).exp().clamp(max=1.0)
    largest = x.scale.cummax(dim).values
    return Scaled((largest + share + call.result.abs(),), float(x.value.shape[dim]))


ROWS: list[Op] = [
    *ops("cumsum", "scan", either(cumsum, counted_whole), like_first, linear=True),
    *ops("cumprod", "scan", either(cumprod), like_first),
    *ops("logcumsumexp", "scan", logcumsumexp, like_first),
    *ops("cummax cummin", "scan", monotone, like_first_pair),
]
