"""Element by element. Functions that a machine has not are written by those that it has."""

from __future__ import annotations

import math
from collections.abc import Callable

from kernellab.lower.site import Rule, Site
from kernellab.lower.values import Number, Value, apply, number

Formula = Callable[..., Value]


def f(value: float) -> Value:
    return number(float(value))


def add(a: Value, b: Value) -> Value:
    return apply("add", a, b)


def sub(a: Value, b: Value) -> Value:
    return apply("sub", a, b)


def mul(a: Value, b: Value) -> Value:
    return apply("mul", a, b)


def div(a: Value, b: Value) -> Value:
    return apply("div", a, b)


def where(condition: Value, a: Value, b: Value) -> Value:
    return apply("where", condition, a, b)


def lt(a: Value, b: Value) -> Value:
    return apply("lt", a, b)


def exp(x: Value) -> Value:
    return apply("exp", x)


def sigmoid(x: Value) -> Value:
    return div(f(1), add(f(1), exp(apply("neg", x))))


def relu(x: Value) -> Value:
    return apply("max", x, number(0.0) if x.kind == "float" else number(0))


def softplus(x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    scaled = mul(x, f(beta))
    soft = add(relu(scaled), apply("log1p", exp(apply("neg", apply("abs", scaled)))))
    return where(apply("gt", scaled, f(threshold)), x, div(soft, f(beta)))


def elu(x: Value, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
    low = mul(f(alpha), apply("expm1", mul(x, f(input_scale))))
    return mul(f(scale), where(apply("gt", x, f(0)), x, low))


def gelu(x: Value, tanh: bool) -> Value:
    if tanh:
        cube = mul(mul(x, x), x)
        inner = mul(f(math.sqrt(2 / math.pi)), add(x, mul(f(0.044715), cube)))
        return mul(x, sigmoid(mul(f(2), inner)))  # (1 + tanh(u)) / 2 is the sigmoid of 2 u
    return mul(mul(f(0.5), x), add(f(1), apply("erf", mul(x, f(math.sqrt(0.5))))))


def clamp(x: Value, low: float | None, high: float | None) -> Value:
    cast = f if x.kind == "float" else lambda v: number(int(v))
    x = x if low is None else apply("max", x, cast(low))
    return x if high is None else apply("min", x, cast(high))


def hardsigmoid(x: Value) -> Value:
    return div(clamp(add(x, f(3)), 0, 6), f(6))


def power(x: Value, y: Value) -> Value:
    """Small whole powers are products."""
    if isinstance(y, Number):
        plain = float(y.value)
        if plain == 0.5:
            return apply("sqrt", x)
        if plain in (1, 2, 3, 4):
            square = mul(x, x)
            return {1: x, 2: square, 3: mul(square, x), 4: mul(square, square)}[int(plain)]
        if plain in (-1, -2):
            return div(f(1), x if plain == -1 else mul(x, x))
        if plain == -0.5:
            return apply("rsqrt", x)
    return apply("pow", x, y)


_MACHINE = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan tanh erf asin acos atan sinh cosh floor ceil round "
    "trunc"
)
_FORMULAS: dict[str, Formula] = {
    "sigmoid": sigmoid,
    "silu": lambda x: mul(x, sigmoid(x)),
    "mish": lambda x: mul(x, apply("tanh", softplus(x))),
    "log_sigmoid": lambda x: apply("neg", softplus(apply("neg", x), 1.0, math.inf)),
    "log_sigmoid_forward": lambda x: apply("neg", softplus(apply("neg", x), 1.0, math.inf)),
    "reciprocal": lambda x: div(f(1), x),
    "square": lambda x: mul(x, x),
    "hardsigmoid": hardsigmoid,
    "hardswish": lambda x: mul(x, hardsigmoid(x)),
    "relu6": lambda x: clamp(x, 0, 6),
    "erfc": lambda x: sub(f(1), apply("erf", x)),
    **{name: (lambda x, _name=name: apply(_name, x)) for name in _MACHINE.split()},
}


def formula(made: Formula) -> Rule:
    return lambda site: made(site.float_operand(site.arg(0)))


def binary(function: str) -> Rule:
    def rule(site: Site) -> Value:
        a, b = both(site, site.arg(0), site.arg(1))
        return apply(function, a, _scaled(site, b) if function in ("add", "sub") else b)

    return rule


def _scaled(site: Site, x: Value) -> Value:
    """By the `alpha` that torch's sums and differences have."""
    alpha = site.arg(2, "alpha", 1)
    return x if alpha == 1 else mul(x, f(alpha) if x.kind == "float" else number(alpha))


def both(site: Site, a: object, b: object) -> tuple[Value, Value]:
    """Two operands of one kind."""
    left, right = site.operand(a), site.operand(b)
    if "float" in (left.kind, right.kind) or site.kind == "float":
        return apply("float", left), apply("float", right)
    if left.kind != right.kind:
        return apply("int", left), apply("int", right)
    return left, right


def floor_remainder(a: Value, b: Value) -> Value:
    """Of whole numbers, with the sign of the divisor."""
    return apply("rem", add(apply("rem", a, b), b), b)


def floor_quotient(a: Value, b: Value) -> Value:
    return apply("quot", sub(a, floor_remainder(a, b)), b)


def divide(site: Site) -> Value:
    a, b = both(site, site.arg(0), site.arg(1))
    mode = site.node.kwargs.get("rounding_mode")
    if a.kind != "float" and mode:
        return apply("quot", a, b) if mode == "trunc" else floor_quotient(a, b)
    found = div(apply("float", a), apply("float", b))
    return found if mode is None else apply(str(mode), found)


def rsub(site: Site) -> Value:
    a, b = both(site, site.arg(0), site.arg(1))
    return sub(b, _scaled(site, a))


def compare(function: str) -> Rule:
    def rule(site: Site) -> Value:
        return apply(function, *both(site, site.arg(0), site.arg(1)))

    return rule


def logical(function: str) -> Rule:
    def rule(site: Site) -> Value:
        args = [true(site.operand(a)) for a in site.node.args]
        return apply(function, *args)

    return rule


def true(x: Value) -> Value:
    return x if x.kind == "bool" else apply("ne", x, f(0) if x.kind == "float" else number(0))


def select(site: Site) -> Value:
    a, b = both(site, site.arg(1), site.arg(2))
    return where(true(site.operand(site.arg(0))), a, b)


def masked_fill(site: Site) -> Value:
    x, fill = both(site, site.arg(0), site.arg(2))
    return where(true(site.operand(site.arg(1))), fill, x)


def clamped(site: Site) -> Value:
    x = site.operand(site.arg(0))
    for function, limit in (("max", site.arg(1, "min")), ("min", site.arg(2, "max"))):
        if limit is not None:
            bound = site.operand(limit)
            x, bound = (apply("float", x), apply("float", bound)) if x.kind == "float" else (x, bound)
            x = apply(function, x, bound)
    return x


def clamp_one(function: str) -> Rule:
    def rule(site: Site) -> Value:
        return apply(function, *both(site, site.arg(0), site.arg(1)))

    return rule


def to_copy(site: Site) -> Value:
    x = site.operand(site.arg(0))
    if site.kind == "bool":
        return true(x)
    return apply(site.kind, x)


def leaky_relu(site: Site) -> Value:
    x = site.float_operand(site.arg(0))
    return where(apply("gt", x, f(0)), x, mul(x, f(site.arg(1, "negative_slope", 0.01))))


def prelu(site: Site) -> Value:
    x, weight = site.float_operand(site.arg(0)), site.float_operand(site.arg(1))
    return where(apply("gt", x, f(0)), x, mul(x, weight))


def threshold(site: Site) -> Value:
    x = site.float_operand(site.arg(0))
    return where(apply("gt", x, f(site.arg(1))), x, f(site.arg(2)))


def hardshrink(site: Site) -> Value:
    x = site.float_operand(site.arg(0))
    return where(apply("gt", apply("abs", x), f(site.arg(1, "lambd", 0.5))), x, f(0))


def softshrink(site: Site) -> Value:
    x, by = site.float_operand(site.arg(0)), f(site.arg(1, "lambd", 0.5))
    low = where(lt(x, apply("neg", by)), add(x, by), f(0))
    return where(apply("gt", x, by), sub(x, by), low)


def addcmul(site: Site) -> Value:
    base, a, b = (site.float_operand(site.arg(i)) for i in range(3))
    return add(base, mul(f(site.arg(3, "value", 1)), mul(a, b)))


def addcdiv(site: Site) -> Value:
    base, a, b = (site.float_operand(site.arg(i)) for i in range(3))
    return add(base, mul(f(site.arg(3, "value", 1)), div(a, b)))


def lerp(site: Site) -> Value:
    start, end, weight = (site.float_operand(site.arg(i)) for i in range(3))
    return add(start, mul(weight, sub(end, start)))


def sign(site: Site) -> Value:
    x = site.operand(site.arg(0))
    cast = f if x.kind == "float" else lambda v: number(int(v))
    return where(apply("gt", x, cast(0)), cast(1), where(lt(x, cast(0)), cast(-1), x))


def one_or_other(function: str) -> Rule:
    return lambda site: apply(function, site.operand(site.arg(0)))


RULES: dict[str, Rule] = {
    **{name: formula(made) for name, made in _FORMULAS.items()},
    **{name: binary(name) for name in ("add", "sub", "mul")},
    "div": divide, "true_divide": divide, "rsub": rsub,
    "pow": lambda s: power(s.float_operand(s.arg(0)), s.float_operand(s.arg(1))),
    "neg": one_or_other("neg"), "abs": one_or_other("abs"), "positive": lambda s: s.operand(s.arg(0)),
    "relu": lambda s: relu(s.operand(s.arg(0))),
    "isnan": one_or_other("isnan"), "isinf": one_or_other("isinf"),
    "clamp": clamped, "hardtanh": lambda s: clamp(s.float_operand(s.arg(0)), s.arg(1, "", -1.0), s.arg(2, "", 1.0)),
    "clamp_min": clamp_one("max"), "clamp_max": clamp_one("min"),
    "maximum": compare("max"), "minimum": compare("min"), "fmax": compare("max"), "fmin": compare("min"),
    **{name: compare(name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    "logical_and": logical("and"), "logical_or": logical("or"), "logical_not": logical("not"),
    "where": select, "masked_fill": masked_fill, "_to_copy": to_copy, "to": to_copy,
    "gelu": lambda s: gelu(s.float_operand(s.arg(0)), s.arg(1, "approximate", "none") == "tanh"),
    "softplus": lambda s: softplus(s.float_operand(s.arg(0)), s.arg(1, "beta", 1.0), s.arg(2, "threshold", 20.0)),
    "elu": lambda s: elu(s.float_operand(s.arg(0)), s.arg(1, "", 1.0), s.arg(2, "", 1.0), s.arg(3, "", 1.0)),
    "celu": lambda s: elu(s.float_operand(s.arg(0)), s.arg(1, "", 1.0), 1.0, 1.0 / s.arg(1, "", 1.0)),
    "selu": lambda s: elu(s.float_operand(s.arg(0)), 1.6732632423543772, 1.0507009873554805),
    "leaky_relu": leaky_relu, "prelu": prelu, "_prelu_kernel": prelu, "threshold": threshold,
    "hardshrink": hardshrink, "softshrink": softshrink,
    "addcmul": addcmul, "addcdiv": addcdiv, "lerp": lerp, "sign": sign,
}  # fmt: skip
