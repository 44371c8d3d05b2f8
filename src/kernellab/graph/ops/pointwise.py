"""Element by element: arithmetic, functions, activations."""

from __future__ import annotations

import math
from typing import Any

from kernellab.graph.ops.pairs import Call, Pair, Scaled
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.rules import (
    either,
    far,
    jump,
    kinked,
    scale_of,
    selected_whole,
    selecting,
    size,
    smooth,
    stepping,
)
from kernellab.graph.ops.shapes import broadcast


def add(call: Call) -> Scaled:
    a, b = call.args[0], call.args[1]
    alpha = call.argument(2, "alpha", 1)
    return Scaled((call.result * 0 + scale_of(a) + abs(alpha) * scale_of(b),), whole=call.whole)


def rsub(call: Call) -> Scaled:
    a, b = call.args[0], call.args[1]
    alpha = call.argument(2, "alpha", 1)
    return Scaled((call.result * 0 + abs(alpha) * scale_of(a) + scale_of(b),))


def mul(call: Call) -> Scaled:
    a, b = call.args[0], call.args[1]
    one, other = scale_of(a) * far(call, b), far(call, a) * scale_of(b)
    return Scaled(
        (call.result.abs().maximum(call.result * 0 + one).maximum(call.result * 0 + other),), exact=_shifts(a, b)
    )


def _shifts(a: Pair | float, b: Pair | float) -> bool:
    """Whether a product only moves the exponent of data: by a power of two written in the code."""
    pair, factor = (a, b) if isinstance(a, Pair) else (b, a)
    if isinstance(factor, Pair) or not isinstance(pair, Pair) or not factor:
        return False
    return pair.exact and abs(math.frexp(factor)[0]) == 0.5


def div(call: Call) -> Scaled:
    if call.kwargs.get("rounding_mode"):
        return kinked(call)
    a, b = call.args[0], call.args[1]
    return Scaled(((scale_of(a) + call.result.abs() * scale_of(b)) / size(b),))


def add_whole(call: Call) -> Scaled:
    """Of integers: what the two are off together; a number written in the code is as it is."""
    a, b = _off(call.args[0]), _off(call.args[1])
    alpha = abs(call.argument(2, "alpha", 1))
    a, b = (alpha * a, b) if call.op.startswith("aten.rsub") else (a, alpha * b)
    return Scaled((call.result.double() * 0 + a + b,), exact=True)


def mul_whole(call: Call) -> Scaled:
    a, b = call.args[0], call.args[1]
    each = _off(a) * size(b) + size(a) * _off(b) + _off(a) * _off(b)
    return Scaled(((call.result.double() * 0 + each).nan_to_num(math.inf),), exact=True)


def _off(value: Pair | float) -> Any:
    return value.scale if isinstance(value, Pair) else 0.0


def addcmul(call: Call) -> Scaled:
    base, a, b = call.args[0], call.args[1], call.args[2]
    factor = abs(call.argument(3, "value", 1))
    product = (a.scale * far(call, b)).maximum(far(call, a) * b.scale)
    return Scaled((base.scale + factor * product,))


def addcdiv(call: Call) -> Scaled:
    base, a, b = call.args[0], call.args[1], call.args[2]
    factor = abs(call.argument(3, "value", 1))
    quotient = (a.value / b.value).abs()
    return Scaled((base.scale + factor * (a.scale + quotient * b.scale) / b.value.abs(),))


def lerp(call: Call) -> Scaled:
    start, end, weight = call.args[0], call.args[1], call.args[2]
    return Scaled(
        (start.scale + size(weight) * (start.scale + end.scale) + scale_of(weight) * (end.value - start.value).abs(),)
    )


def gelu(call: Call) -> Scaled:
    """x/2 (1 + erf): for negative x the sum cancels, so what is left carries the rounding of 1."""
    x: Pair = call.args[0]
    share = (call.result / x.value).nan_to_num(0.5)
    return Scaled((smooth(call).scales[0].maximum(x.scale * (1 + (2 * share - 1).abs()) / 2),))  # type: ignore[union-attr]


def to_copy(call: Call) -> Scaled:
    """Another type: floats keep their scale (each type counts its own ULP), a decision becomes a step."""
    x: Pair = call.args[0]
    result = call.result
    if not result.is_floating_point():
        return _truncated(call, x) if x.is_float else _recast(call, x)
    if x.is_float:
        return Scaled((x.scale,), exact=x.exact, whole=x.whole)
    return Scaled((result.abs().maximum(jump(call, x.scale)),), exact=True)


def _truncated(call: Call, x: Pair) -> Scaled:
    """A float as an integer: as far off as the neighbours within reach are, of whole numbers the whole ones. What is no
    number, or beyond all integers of the type, becomes whatever the machine makes of it."""
    reach = (call.reach(x) + _HAIR).floor() if x.whole else call.reach(x)
    up = call.apply(lambda p: p.value + reach)[0].double()
    down = call.apply(lambda p: p.value - reach)[0].double()
    moved = (up - call.result).abs().maximum((call.result - down).abs())
    if call.result.dtype == call.torch.bool:
        return Scaled((moved,))
    ends = call.torch.iinfo(call.result.dtype)
    inside = (x.value > ends.min - 1.0) & (x.value < ends.max + 1.0)
    return Scaled((moved.masked_fill(~inside, float(ends.max) - ends.min),))


def _recast(call: Call, x: Pair) -> Scaled:
    """Integers of another size are off as before; as booleans only where zero is within reach."""
    if call.result.dtype != call.torch.bool:
        return Scaled((x.scale,), exact=True)
    return Scaled((((x.value.double().abs() <= x.scale) & (x.scale > 0)).double(),), exact=True)


_HAIR = 1e-3  # a step of one, as the reach of a scale gives it back
_SMOOTH = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
    "sigmoid erf erfc erfinv square pow softplus silu mish log_sigmoid lgamma digamma special_erfcx atan2 hypot logaddexp "
    "logaddexp2 logit special_ndtr special_log_ndtr special_i0 special_i1 frac sinc xlogy special_xlog1py celu"
)
_KINKED = (
    "leaky_relu hardswish hardsigmoid hardshrink softshrink elu selu prelu _prelu_kernel remainder fmod floor_divide "
    "threshold relu6"
)
_SELECTING = "relu clamp clamp_min clamp_max hardtanh abs neg maximum minimum fmax fmin copysign positive nan_to_num"
ROWS: list[Op] = [
    *ops("add sub", "pointwise", either(add, add_whole), broadcast, linear=True),
    *ops("rsub", "pointwise", either(rsub, add_whole), broadcast, linear=True),
    *ops("mul", "pointwise", either(mul, mul_whole), broadcast, linear=True),
    *ops("div true_divide", "pointwise", either(div), broadcast),
    *ops("addcmul", "pointwise", either(addcmul), broadcast),
    *ops("addcdiv", "pointwise", either(addcdiv), broadcast),
    *ops("lerp", "pointwise", lerp, broadcast),
    *ops("gelu", "pointwise", gelu, broadcast),
    *ops(_SMOOTH, "pointwise", either(smooth), broadcast),
    *ops(_KINKED, "pointwise", either(kinked), broadcast),
    *ops(_SELECTING, "pointwise", either(selecting, selected_whole), broadcast),
    *ops("floor ceil round trunc sign", "pointwise", either(stepping, selected_whole), broadcast),
    *ops("_to_copy to", "pointwise", to_copy, broadcast, linear=True),
]
