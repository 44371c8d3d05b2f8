"""Comparisons, logic and choices: exact, but for decisions that another rounding could have made otherwise."""

from __future__ import annotations

from typing import Any

from kernellab.graph.ops.pairs import Call, Pair, Scaled
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.rules import exact, jump, scale_of, value_of
from kernellab.graph.ops.shapes import broadcast, drop_dims


def compare(call: Call) -> Scaled:
    """Open where the two sides are within each other's reach."""
    a, b = call.args[0], call.args[1]
    reach = call.result.double() * 0
    for pair in (p for p in (a, b) if isinstance(p, Pair)):
        reach = reach + call.reach(pair)
    near = ((_number(a) - _number(b)).abs() <= reach) & (reach > 0)
    return Scaled((near.double(),), exact=True)


def _number(value: Any) -> Any:
    return value.value.double() if isinstance(value, Pair) else value


def decided(call: Call) -> Scaled:
    return Scaled((call.result.double() * 0,), exact=True)


def compare_sorted(call: Call) -> Scaled:
    """Where a value belongs among others: as far off as moving it within its reach moves the place."""
    pairs = call.floats()
    up = call.apply(lambda p: p.value + call.reach(p) if p is pairs[0] else p.value)[0]
    down = call.apply(lambda p: p.value - call.reach(p) if p is pairs[0] else p.value)[0]
    return Scaled(((up - call.result).abs().maximum((call.result - down).abs()).double(),), exact=True)


def where(call: Call) -> Scaled:
    """The scale of the branch taken; where the decision is open, both and the step between them."""
    condition, a, b = call.args
    if not call.result.is_floating_point():
        return _where_whole(call)
    taken = call.torch.where(condition.value, scale_of(a), scale_of(b))
    both = call.torch.maximum(call.result * 0 + scale_of(a), call.result * 0 + scale_of(b))
    step = jump(call, value_of(a) - value_of(b)).nan_to_num(0.0)
    pairs = [p for p in (a, b) if isinstance(p, Pair)]
    return Scaled(
        (call.torch.where(condition.scale > 0, both.maximum(step), taken),),
        exact=all(p.exact for p in pairs) and not bool(condition.scale.any()),
    )


def _where_whole(call: Call) -> Scaled:
    """The same for integers and booleans: numbers written in the code are as they are."""
    condition, a, b = call.args
    own = [p.scale if isinstance(p, Pair) else call.result.double() * 0 for p in (a, b)]
    taken = call.torch.where(condition.value, own[0], own[1])
    step = (call.result.double() * 0 + _number(a) - _number(b)).abs()
    return Scaled((call.torch.where(condition.scale > 0, own[0].maximum(own[1]) + step, taken),), exact=True)


def masked_fill(call: Call) -> Scaled:
    x, mask, value = call.args[:3]
    turned = Call(call.op, [mask, value, x], {}, call.results, call.eps, call.torch, call.run)
    if isinstance(value, Pair):
        return where(turned)
    size = x.value * 0 + abs(value) if x.is_float else x.scale * 0
    fill = Pair(x.value * 0 + value, size, exact=True)
    return where(Call(call.op, [mask, fill, x], {}, call.results, call.eps, call.torch, call.run))


def any_all(call: Call) -> Scaled:
    """Open where the open elements together could turn the result."""
    x: Pair = call.args[0]
    if x.is_float or not bool(x.scale.any()):
        return decided(call)
    unsure = x.scale > 0
    up = call.run([x.value.bool() | unsure, *call.args[1:]], call.kwargs)
    down = call.run([x.value.bool() & ~unsure, *call.args[1:]], call.kwargs)
    return Scaled(((up != down).double(),), exact=True)


ROWS: list[Op] = [
    *ops("eq ne lt le gt ge", "compare", compare, broadcast),
    *ops("isnan isinf isfinite signbit", "compare", decided, broadcast),
    *ops(
        "logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not bitwise_xor bitwise_left_shift "
        "bitwise_right_shift __lshift__ __rshift__", "compare", exact, broadcast,
    ),
    *ops("bucketize searchsorted", "compare", compare_sorted, None),
    *ops("where", "compare", where, broadcast),
    *ops("masked_fill", "compare", masked_fill, broadcast),
    *ops("any all", "compare", any_all, drop_dims),
]  # fmt: skip
