"""Element by element: arithmetic, functions, activations."""

from __future__ import annotations

import math

from kernellab.graph.ops.pairs import Call, Pair, Scaled
from kernellab.graph.ops.row import Op, ops
from kernellab.graph.ops.rules import either, exact, jump, kinked, scale_of, selecting, size, smooth
from kernellab.graph.ops.shapes import broadcast


def add(call: Call) -> Scaled:
    a, b = call.args[0], call.args[1]
    alpha = call.argument(2, "alpha", 1)
    return Scaled((call.result * 0 + scale_of(a) + abs(alpha) * scale_of(b),))


def rsub(call: Call) -> Scaled:
    a, b = call.args[0], call.args[1]
    alpha = call.argument(2, "alpha", 1)
    return Scaled((call.result * 0 + abs(alpha) * scale_of(a) + scale_of(b),))


def mul(call: Call) -> Scaled:
    a, b = call.args[0], call.args[1]
    one, other = scale_of(a) * size(b), size(a) * scale_of(b)
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


def addcmul(call: Call) -> Scaled:
    base, a, b = call.args[0], call.args[1], call.args[2]
    factor = abs(call.argument(3, "value", 1))
    product = (a.scale * b.value.abs()).maximum(a.value.abs() * b.scale)
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
        return exact(call) if not x.is_float else _truncated(call, x)
    if x.is_float:
        return Scaled((x.scale,), exact=x.exact)
    return Scaled((result.abs().maximum(jump(call, x.scale)),), exact=True)


def _truncated(call: Call, x: Pair) -> Scaled:
    """A float as an integer: open where the neighbours within reach give another one."""
    reach = call.reach(x)
    up = call.apply(lambda p: p.value + reach)[0]
    down = call.apply(lambda p: p.value - reach)[0]
    return Scaled(((up != down).double(),))


_SMOOTH = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
    "sigmoid erf erfc erfinv square pow softplus silu mish log_sigmoid lgamma digamma special_erfcx atan2 hypot logaddexp "
    "logaddexp2 logit special_ndtr special_log_ndtr special_i0 special_i1 frac sinc xlogy special_xlog1py celu"
)
_KINKED = (
    "leaky_relu hardswish hardsigmoid hardshrink softshrink elu selu prelu _prelu_kernel remainder fmod floor_divide "
    "threshold relu6"
)
_SELECTING = (
    "relu clamp clamp_min clamp_max hardtanh abs neg maximum minimum fmax fmin floor ceil round trunc sign copysign "
    "positive nan_to_num"
)
ROWS: list[Op] = [
    *ops("add sub", "pointwise", either(add), broadcast, linear=True),
    *ops("rsub", "pointwise", either(rsub), broadcast, linear=True),
    *ops("mul", "pointwise", either(mul), broadcast, linear=True),
    *ops("div true_divide", "pointwise", either(div), broadcast),
    *ops("addcmul", "pointwise", either(addcmul), broadcast),
    *ops("addcdiv", "pointwise", either(addcdiv), broadcast),
    *ops("lerp", "pointwise", lerp, broadcast),
    *ops("gelu", "pointwise", gelu, broadcast),
    *ops(_SMOOTH, "pointwise", either(smooth), broadcast),
    *ops(_KINKED, "pointwise", either(kinked), broadcast),
    *ops(_SELECTING, "pointwise", either(selecting), broadcast),
    *ops("_to_copy to", "pointwise", to_copy, broadcast, linear=True),
]
