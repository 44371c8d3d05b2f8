"""Element by element, less usual: whole numbers and their bits, remainders, functions of two arguments."""

from __future__ import annotations

import math
from typing import Any

from kernellab.lower.rules.pointwise import (
    add,
    both,
    div,
    exp,
    f,
    floor_quotient,
    floor_remainder,
    formula,
    lt,
    mul,
    sub,
    true,
    where,
)
from kernellab.lower.site import NotLowered, Rule, Site
from kernellab.lower.values import Value, apply, number


def remainder(site: Site) -> Value:
    """With the sign of the divisor."""
    a, b = both(site, site.arg(0), site.arg(1))
    if a.kind == "float":
        return sub(a, mul(b, apply("floor", div(a, b))))
    return floor_remainder(a, b)


def truncated_remainder(site: Site) -> Value:
    a, b = both(site, site.arg(0), site.arg(1))
    return apply("fmod" if a.kind == "float" else "rem", a, b)


def floor_divide(site: Site) -> Value:
    a, b = both(site, site.arg(0), site.arg(1))
    if a.kind == "float":
        return apply("floor", div(a, b))
    return floor_quotient(a, b)


def bits(function: str) -> Rule:
    """Of whole numbers; of truths as logic has it."""

    def rule(site: Site) -> Value:
        args = [site.operand(site.arg(i)) for i in range(len(site.node.args))]
        if site.kind != "bool":
            return apply(f"bit{function}", *(apply("int", a) for a in args))
        return apply("ne" if function == "xor" else function, *args)

    return rule


def shift(function: str) -> Rule:
    def rule(site: Site) -> Value:
        if site.kind != "int":
            raise NotLowered(f"{site.node.op} of numbers that are not whole")
        return apply(function, *(apply("int", site.operand(site.arg(i))) for i in range(2)))

    return rule


def inverted(site: Site) -> Value:
    x = site.operand(site.arg(0))
    return apply("not", x) if site.kind == "bool" else apply("bitxor", x, number(-1))


def two(function: str) -> Rule:
    """A function that machines have."""
    return lambda site: apply(function, site.float_operand(site.arg(0)), site.float_operand(site.arg(1)))


def asinh(x: Value) -> Value:
    size, square = apply("abs", x), mul(x, x)
    found = apply("log1p", add(size, div(square, add(f(1), apply("sqrt", add(square, f(1)))))))
    return where(lt(x, f(0)), apply("neg", found), found)


def acosh(x: Value) -> Value:
    return apply("log", add(x, apply("sqrt", sub(mul(x, x), f(1)))))


def atanh(x: Value) -> Value:
    return mul(f(0.5), apply("log1p", div(mul(f(2), x), sub(f(1), x))))


def logaddexp(site: Site) -> Value:
    a, b = (site.float_operand(site.arg(i)) for i in range(2))
    return add(apply("max", a, b), apply("log1p", exp(apply("neg", apply("abs", sub(a, b))))))


def xlogy(site: Site) -> Value:
    x, y = (site.float_operand(site.arg(i)) for i in range(2))
    return where(apply("eq", x, f(0)), f(0), mul(x, apply("log", y)))


def logit(site: Site) -> Value:
    x, eps = site.float_operand(site.arg(0)), site.arg(1, "eps")
    if eps is not None:
        x = apply("min", apply("max", x, f(eps)), f(1 - eps))
    return apply("log", div(x, sub(f(1), x)))


def finite(x: Value) -> Value:
    return lt(apply("abs", x), f(math.inf))


def nan_to_num(site: Site) -> Value:
    x = site.float_operand(site.arg(0))
    most = 3.4028234663852886e38 if site.dtype_of(site.arg(0)) == "float32" else None
    given: list[Any] = [site.arg(i, name) for i, name in ((1, "nan"), (2, "posinf"), (3, "neginf"))]
    if most is None and None in given[1:]:
        raise NotLowered("nan_to_num without numbers for infinities, of a type that is not float32")
    nan, up, down = (0.0 if given[0] is None else given[0]), given[1], given[2]
    x = where(apply("eq", x, f(math.inf)), f(most if up is None else up), x)  # type: ignore[arg-type]
    x = where(apply("eq", x, f(-math.inf)), f(-most if down is None else down), x)  # type: ignore[operator]
    return where(apply("isnan", x), f(nan), x)


RULES: dict[str, Rule] = {
    "remainder": remainder, "fmod": truncated_remainder, "floor_divide": floor_divide,
    "bitwise_and": bits("and"), "bitwise_or": bits("or"), "bitwise_xor": bits("xor"), "bitwise_not": inverted,
    "__lshift__": shift("shl"), "__rshift__": shift("shr"), "bitwise_left_shift": shift("shl"),
    "bitwise_right_shift": shift("shr"),
    "logical_xor": lambda s: apply("ne", true(s.operand(s.arg(0))), true(s.operand(s.arg(1)))),
    "atan2": two("atan2"), "hypot": two("hypot"), "copysign": two("copysign"), "logaddexp": logaddexp,
    "xlogy": xlogy, "logit": logit, "nan_to_num": nan_to_num,
    "asinh": formula(asinh), "acosh": formula(acosh), "atanh": formula(atanh), "isfinite": formula(finite),
    "frac": formula(lambda x: sub(x, apply("trunc", x))), "signbit": formula(lambda x: lt(x, f(0))),
    "special_ndtr": formula(lambda x: mul(f(0.5), add(f(1), apply("erf", mul(x, f(math.sqrt(0.5))))))),
}  # fmt: skip
