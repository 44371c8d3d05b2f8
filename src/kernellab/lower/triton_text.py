"""Loop form -> Triton: functions of blocks and numbers."""

from __future__ import annotations

import math

from kernellab.lower.values import Apply, Number, Value

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "and": "&", "or": "|", "bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<", "shr": ">>", "rem": "%", "quot": "//",
}  # fmt: skip
_OWN = "exp exp2 log log2 sqrt rsqrt sin cos erf floor ceil abs"
_DEVICE = "expm1 log10 log1p tan tanh asin acos atan sinh cosh trunc pow fmod atan2 hypot copysign"
_OWN_NAMES, _DEVICE_NAMES = frozenset(_OWN.split()), frozenset(_DEVICE.split())


def number_text(value: Number) -> str:
    plain = value.value
    if value.kind == "bool":
        return str(bool(plain))
    if value.kind == "int":
        return str(int(plain))
    return repr(float(plain)) if math.isfinite(plain) else f'float("{float(plain)}")'


def call_text(function: str, args: list[str], kinds: list[str]) -> str:
    if function in _BINARY:
        return f"({args[0]} {_BINARY[function]} {args[1]})"
    if function in ("max", "min"):
        return f"tl.{function}imum({args[0]}, {args[1]})"
    if function == "where":
        return f"tl.where({', '.join(args)})"
    if function == "float":
        return f"({args[0]} * 1.0)"
    if function == "int":
        return f"tl.cast({args[0]}, tl.int64)"
    if function == "neg":
        return f"(-{args[0]})"
    if function == "not":
        return f"({args[0]} == 0)"
    if function == "isnan":
        return f"({args[0]} != {args[0]})"
    if function == "isinf":
        return f'(tl.abs({args[0]}) == float("inf"))'
    if function == "round":
        return f"libdevice.rint({args[0]})"
    if function in _OWN_NAMES:
        return f"tl.{function}({args[0]})"
    if function in _DEVICE_NAMES:
        return f"libdevice.{function}({', '.join(args)})"
    raise KeyError(function)


def above_erf(value: Apply) -> Value | None:
    """v, of 1 + erf(v)."""
    if value.function != "add":
        return None
    for one, other in (value.children(), value.children()[::-1]):
        if isinstance(one, Number) and one.value == 1 and isinstance(other, Apply) and other.function == "erf":
            return other.children()[0]
    return None
