"""Arithmetic on pairs, for operators that are several in one: norms, softmax, attention."""

from __future__ import annotations

from typing import Any

from kernellab.graph.ops.pairs import Pair, Tensor, in_memory, present

_EPS, _TINY = 2.0**-23, 2.0**-1000
_BITS, _BEFORE = 24, 5
_AT_ONCE, _LOOKED_AT = 1 << 24, 1 << 20  # elements


def _terms(*pairs: Pair) -> float:
    return max(p.terms for p in pairs)


def add(a: Pair, b: Pair) -> Pair:
    return Pair(a.value + b.value, a.scale + b.scale, _terms(a, b))


def sub(a: Pair, b: Pair) -> Pair:
    return Pair(a.value - b.value, a.scale + b.scale, _terms(a, b))


def mul(a: Pair, b: Pair) -> Pair:
    value = a.value * b.value
    scale = value.abs().maximum(a.scale * _far(b)).maximum(_far(a) * b.scale)
    return Pair(value, scale, _terms(a, b))


def _far(a: Pair) -> Tensor:
    """Nothing is nearer to zero than its rounding: of a row of one value the mean is off by some, and so the variance."""
    return a.value.abs().maximum(a.budget * _EPS * a.scale)


def square(a: Pair) -> Pair:
    return Pair(a.value**2, (2 * _far(a) * a.scale).maximum(a.value**2), a.terms)


def times(a: Pair, factor: float) -> Pair:
    return Pair(a.value * factor, a.scale * abs(factor), a.terms)


def mean(a: Pair, dims: Any, keepdim: bool) -> Pair:
    if dims is None:
        dims = list(range(a.value.dim()))
    count = terms_of(a.value, dims)
    return Pair(a.value.mean(dims, keepdim=keepdim), a.scale.mean(dims, keepdim=keepdim), max(a.terms, count))


def terms_of(values: Tensor, dims: Any, scaled: bool = False) -> float:
    """Of the largest sum over these dims, such that its root is what adding in any order may cost in ULP of the sum's size:
    the root of the number of those that count, and what is lost in one direction. Terms too small to show beside the total
    are; and of terms that are all the same the rounding is the same each time. Counts and the like cost nothing.
    `scaled`: kernels may add the terms times a number of their own, as those of a softmax."""
    rows = _rows(values, dims)
    if not rows.numel():
        return 0.0
    together = max(1, _AT_ONCE // rows.shape[1])
    rounded = (piece if scaled else piece[~_exact(piece)] for piece in rows.split(together))
    return max((max(_lost(piece), _repeated(piece, scaled)) for piece in rounded if piece.numel()), default=0.0) ** 2


def _exact(rows: Tensor) -> Tensor:
    """Rows that float32 adds without rounding, in any order: multiples of one power of two, not too many of it in all."""
    total = rows.norm(1, 1, keepdim=True)
    grid = (total * 0 + 1).ldexp(total.frexp().exponent - _BITS)
    whole = grid.squeeze(1) == grid.squeeze(1)
    for piece in rows.split(_AT_ONCE, 1):
        steps = piece / grid
        whole &= (steps == steps.round()).all(1)
    return whole


def _lost(rows: Tensor) -> float:
    """Piece by piece: a large tensor is not held several times over."""
    unit = _unit(rows)
    kept, lost = unit.squeeze(1) * 0, unit.squeeze(1) * 0
    for piece in rows.split(_AT_ONCE, 1):
        size = piece.abs()
        small = size < unit
        kept += ((size != 0) & ~small).sum(1)
        lost += size.mul_(small).sum(1)
    return float((kept.sqrt() + lost / unit.squeeze(1)).nan_to_num(0.0, 0.0).max())


def _repeated(rows: Tensor, scaled: bool) -> float:
    """Of rows of which more than half are one number: how far it is from what the running sum can hold, each time; as far
    as it can be, where it comes with a factor. Some rows are looked at, and some elements of a long one."""
    some = rows[:: max(1, rows.numel() // _LOOKED_AT)]
    step = max(1, some.shape[1] // _LOOKED_AT)
    size = some[:, ::step].abs()
    middle = size.median(1, keepdim=True).values
    same = (size == middle).sum(1, keepdim=True)
    unit = _unit(some)
    off = middle if scaled else _off(middle, unit)
    cost = step * same * (off / unit).clamp(max=0.5) * (2 * same > size.shape[1])
    return float(cost.nan_to_num(0.0, 0.0).max())


def _off(number: Tensor, unit: Tensor) -> Tensor:
    """How far a number is from a multiple of the spacing of float32 at the sum, or a while before it was as large."""
    spacing = (unit * 0 + 1).ldexp(unit.frexp().exponent - 1)
    found = number * 0
    for _ in range(_BEFORE):
        found = found.maximum((number - (number / spacing).round() * spacing).abs())
        spacing = spacing / 2
    return found


def _unit(rows: Tensor) -> Tensor:
    """An ULP of the sum of magnitudes, for each row."""
    return (_EPS * rows.norm(1, 1, keepdim=True)).clamp(min=_TINY)


def _rows(values: Tensor, dims: Any) -> Tensor:
    """What is added together, in rows."""
    given = [dims] if isinstance(dims, int) else list(dims)
    over = sorted({d % values.dim() for d in given}) if values.dim() else []
    if not over:
        return values.reshape(-1, 1)
    last = values.movedim(over, list(range(-len(over), 0))).flatten(-len(over))
    return last.reshape(-1, last.shape[-1])


def rsqrt(a: Pair, eps: float) -> Pair:
    value = (a.value + eps).rsqrt()
    return Pair(value, value.maximum(value**3 * (a.scale + abs(eps)) / 2), a.terms)


def reshape(a: Pair, shape: Any) -> Pair:
    return Pair(a.value.reshape(shape), a.scale.reshape(shape), a.terms, a.exact)


def normalise(x: Pair, centre: Pair, spread: Pair, eps: float) -> Pair:
    """(x - centre) / sqrt(spread + eps)."""
    return mul(sub(x, centre), rsqrt(spread, eps))


def moments(x: Pair, dims: list[int]) -> tuple[Pair, Pair]:
    """Mean and variance, both with their dims kept."""
    centre = mean(x, dims, True)
    return centre, mean(square(sub(x, centre)), dims, True)


def affine(y: Pair, weight: Pair | None, bias: Pair | None, shape: list[int]) -> Pair:
    """y * weight + bias, both reshaped to go along."""
    if weight is not None:
        y = mul(y, reshape(weight, shape))
    return y if bias is None else add(y, reshape(bias, shape))


def softmax(x: Pair, dim: int) -> Pair:
    """y (1 + s_i + sum p_j s_j). Exact arguments enter as differences from the largest, which are exact too."""
    value = x.value.softmax(dim)
    scale = shifted(x, dim)
    return Pair(value, value * (1 + scale + (value * scale).sum(dim, keepdim=True)), max(x.terms, shares(value, dim)))


def log_softmax(x: Pair, dim: int) -> Pair:
    value = x.value.log_softmax(dim)
    share = value.exp()
    scale = shifted(x, dim)
    total = scale + (share * scale).sum(dim, keepdim=True) + 1
    return Pair(value, total.maximum(value.abs()), max(x.terms, shares(share, dim)))


def shifted(x: Pair, dim: int) -> Tensor:
    """The scale of x less its largest element; nothing where x is minus infinity."""
    top = x.value.amax(dim, keepdim=True)
    scale = (x.value - top).abs() if x.exact else x.scale
    return scale.nan_to_num(0.0, 0.0)


def shares(share: Tensor, dims: Any) -> float:
    """Of the sum that a softmax divides by."""
    return terms_of(share.nan_to_num(0.0), dims, scaled=True)


def matmul(a: Pair, b: Pair) -> Pair:
    """Half of each factor's scale times the other's magnitude."""
    scale, terms = product_scale(a, b)
    return Pair(a.value @ b.value, scale, terms)


def product_scale(a: Pair, b: Pair) -> tuple[Tensor, float]:
    """And the terms of its sums."""
    terms = max(_terms(a, b), _most_used(a.value, b.value))
    if a.bare and b.bare:  # both halves are the same
        return a.scale @ b.scale, terms
    return (a.scale @ b.value.abs() + a.value.abs() @ b.scale) / 2, terms


def _most_used(a: Tensor, b: Tensor) -> float:
    """The largest number of terms other than zero. A large second factor is counted once."""
    if not a.numel() or not b.numel():
        return 0.0
    if int(in_memory(b).count_nonzero()) == b.numel():
        return float(present(a).sum(-1).max())
    return float((present(a) @ present(b)).max())
