"""Scale rules that many operators share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kernellab.graph.ops.pairs import (
    FLOOR_ULP,
    Call,
    Pair,
    Scaled,
    Tensor,
    in_memory,
    present,
    scale_of,
    size,
    value_of,
)


def same(call: Call) -> Scaled:
    """Moving elements: the same operator on the scales."""
    scales = call.apply(lambda p: p.scale)
    kept = [None if r is None else _as_scale(s, r) for s, r in zip(scales, call.results, strict=True)]
    floats = call.floats()
    return Scaled(tuple(kept), exact=all(p.exact for p in floats), whole=all(p.whole for p in floats))


def _as_scale(scale: Tensor, result: Tensor) -> Tensor:
    return _above_zero(scale.double()) if result.is_floating_point() else result.double() * 0


def _above_zero(scale: Tensor) -> Tensor:
    """Its magnitude: itself, where it has no sign to lose."""
    return scale if scale.numel() and bool(in_memory(scale).min() >= 0) else scale.abs()


def same_open(call: Call) -> Scaled:
    """Moving elements of any type: what is open stays open where it goes."""
    pairs = call.pairs()
    if all(p.is_float for p in pairs):
        return same(call)
    if any(p.is_float for p in pairs) or not any(bool(p.scale.any()) for p in pairs):
        return same(call)
    args, kwargs = _opened(call.args), {k: _opened(v) for k, v in call.kwargs.items()}
    answer = call.run(args, kwargs)
    answers = answer if isinstance(answer, list | tuple) else (answer,)
    return Scaled(tuple(a.double() for a in answers))


def _opened(value: Any) -> Any:
    if isinstance(value, Pair):
        return value.scale
    return [_opened(v) for v in value] if isinstance(value, list | tuple) else value


def linear(weight: Callable[[Call], float] = lambda _: 1.0) -> Callable[[Call], Scaled]:
    """Sums with weights above zero: the same operator on the scales. `weight` turns shares into numbers of terms."""

    def rule(call: Call) -> Scaled:
        scales = tuple(s.abs() for s in call.apply(lambda p: p.scale)[:1])
        return Scaled((*scales, *(None for _ in call.results[1:])), counted(call) * weight(call))

    return rule


def counted(call: Call) -> float:
    """The largest number of terms other than zero that go into one element."""
    terms = call.apply(lambda p: present(p.value))[0]
    return float(terms.max()) if terms.numel() else 0.0


def smooth(call: Call) -> Scaled:
    """A differentiable function of each element: the magnitude, or what the arguments' scales do to it."""
    return Scaled((_moved(call, call.floats(), kinks=False),))


def kinked(call: Call) -> Scaled:
    """A function with kinks or steps: within reach of one both sides count. An exact argument is on one side."""
    pairs = call.floats()
    return Scaled((_moved(call, pairs, kinks=True),), exact=False)


def selecting(call: Call) -> Scaled:
    """A function with kinks that rounds nothing itself: relu, clamp, abs, maximum."""
    pairs = call.floats()
    return Scaled((_moved(call, pairs, kinks=True),), exact=all(p.exact for p in pairs), whole=call.whole)


def stepping(call: Call) -> Scaled:
    """Rounding to whole numbers (or to decimals): nothing is lost but where a step is within reach."""
    pairs = call.floats()
    return Scaled(
        (_moved(call, pairs, kinks=True),), exact=all(p.exact for p in pairs), whole=not call.kwargs.get("decimals")
    )


def monotone(call: Call) -> Scaled:
    """The largest, the smallest, the sorted: whoever may have won within reach."""
    if not call.floats():
        return Scaled(tuple(None if r is None else r.double() * 0 for r in call.results), exact=True)
    (pair,) = call.floats()
    moved = _moved(call, [pair], kinks=True)
    rest = (None if r is None else r.double() * 0 for r in call.results[1:])
    return Scaled((moved, *rest), exact=pair.exact)


def _moved(call: Call, pairs: list[Pair], kinks: bool) -> Tensor:
    """|y|, or how much y moves when the arguments move by their reach, in units of that reach."""
    result, total = call.result, None
    for pair in pairs:
        if kinks and pair.exact:
            continue
        step = pair.budget * call.eps
        far, down = _off(call, pair, step), _off(call, pair, -step)
        far = call.torch.maximum(far, down, out=far).div_(step)
        total = far if total is None else total.add_(far)
    return result.abs() if total is None else total.maximum(result.abs())


def _off(call: Call, moved: Pair, by: float) -> Tensor:
    """How much the result moves when this argument does, by so much of its scale."""
    there = call.apply(lambda p: (by * p.scale).add_(p.value) if p is moved else p.value)[0]
    return (there - call.result).abs_().nan_to_num_(0.0, math.inf)


def far(call: Call, value: Pair | float) -> Any:
    """A factor's magnitude, at least what an honest one may be off by: of a row of one value what is left without its mean
    is rounding, and so is the square of that."""
    if isinstance(value, Pair) and value.is_float and not value.exact:
        return size(value).maximum(call.reach(value))
    return size(value)


def bilinear(first: int, second: int, bias: int | None = None) -> Callable[[Call], Scaled]:
    """A product summed over: half of each factor's scale times the other's magnitude; the bias adds its own."""

    def rule(call: Call) -> Scaled:
        a, b = call.args[first], call.args[second]
        extra = call.args[bias] if bias is not None and bias < len(call.args) else None

        def run(left: Tensor, right: Tensor, third: Any) -> Tensor:
            args = list(call.args)
            args[first], args[second] = left, right
            if bias is not None and bias < len(args):
                args[bias] = third
            kwargs = {k: abs(v) if isinstance(v, int | float) else v for k, v in call.kwargs.items()}
            return call.run(args, kwargs)

        zero = None if extra is None else extra.value * 0
        if a.bare and b.bare:  # both halves are the same
            through = run(a.scale, b.scale, zero)
        else:
            through = (run(a.scale, far(call, b), zero) + run(far(call, a), b.scale, zero)) / 2
        if extra is not None:
            one = a.value[:1] if a.bare and a.value.dim() == call.result.dim() > 1 else a.value
            through = through + run(one * 0, b.value, extra.scale)
        terms = run(present(a.value), present(b.value), zero)
        return Scaled((through.abs(),), float(terms.max()) if terms.numel() else 0.0)

    return rule


def exact(call: Call) -> Scaled:
    """Integers and booleans made of such, by a function that has no rule of its own: anything where an argument is open."""
    open_ = call.result.double() * 0
    for pair in call.pairs():
        if not pair.is_float and bool(pair.scale.any()):
            open_ = open_ + (pair.scale > 0 if _broadcasts(pair.scale, open_) else 1.0)
    return Scaled((open_.where(open_ == 0, open_ * 0 + math.inf),), exact=True)


def _broadcasts(given: Tensor, result: Tensor) -> bool:
    """Whether each element belongs to those of the result that it is broadcast to."""
    pairs = list(zip(reversed(given.shape), reversed(result.shape), strict=False))
    return given.dim() <= result.dim() and all(own in (1, other) for own, other in pairs)


def counted_whole(call: Call) -> Scaled:
    """Sums of integers and booleans: off by what their terms may be off together."""
    named = {k: _opened(v) for k, v in call.kwargs.items() if k != "dtype"}
    return Scaled((call.run(_opened(call.args), named).double().abs(),), exact=True)


def selected_whole(call: Call) -> Scaled:
    """One of several integers, or one as it is or with another sign: off by no more than the worst of them."""
    open_ = call.result.double() * 0
    for pair in call.pairs():
        open_ = open_.maximum(pair.scale if _broadcasts(pair.scale, open_) else pair.scale.amax())
    return Scaled((open_,), exact=True)


def either(rule: Callable[[Call], Scaled], whole: Callable[[Call], Scaled] = exact) -> Callable[[Call], Scaled]:
    """A rule for floats, and one for results that are integers or booleans."""

    def chosen(call: Call) -> Scaled:
        return rule(call) if call.result.is_floating_point() else whole(call)

    return chosen


def jump(call: Call, difference: Tensor) -> Tensor:
    """A scale so large that the smallest budget covers a step of this size."""
    return difference.abs() / (FLOOR_ULP * call.eps)


__all__ = [
    "bilinear", "counted", "counted_whole", "either", "exact", "far", "jump", "kinked", "linear", "monotone", "same",
    "same_open", "scale_of", "selected_whole", "selecting", "size", "smooth", "stepping", "value_of",
]  # fmt: skip
