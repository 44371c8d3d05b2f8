"""Loop form -> C: expressions and types."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from kernellab.lower.axes import Axis, Index, Looked, Quotient, Remainder, Term
from kernellab.lower.c_math import POLYNOMIALS, definitions, macro
from kernellab.lower.sizes import ONE, Size
from kernellab.lower.values import Number, Value

TYPES = {
    "float32": "float", "float64": "double", "float16": "_Float16", "bfloat16": "unsigned short", "int64": "long long",
    "int32": "int", "int16": "short", "int8": "signed char", "uint8": "unsigned char", "bool": "unsigned char",
}  # fmt: skip
KINDS = {"float": "real", "int": "long", "bool": "int"}
_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "and": "&&", "or": "||", "bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<", "shr": ">>", "rem": "%", "quot": "/",
}  # fmt: skip
_WORDS = (
    "fmod atan2 hypot copysign exp2 expm1 log log2 log10 log1p sqrt sin cos tan "
    "tanh erf asin acos atan sinh cosh floor ceil trunc pow"
)
_LIBRARY = frozenset(_WORDS.split())

BFLOAT16 = """\
static inline float from_bf16(unsigned short bits) {
    unsigned wide = (unsigned)bits << 16;
    float value;
    __builtin_memcpy(&value, &wide, sizeof value);
    return value;
}
static inline unsigned short to_bf16(float value) {
    unsigned bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    if (value != value) return 0x7fc0;
    return (unsigned short)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
"""


def number_text(value: Number, real: str) -> str:
    plain = value.value
    if value.kind != "float":
        return str(int(plain))
    if math.isinf(plain) or math.isnan(plain):
        return {math.inf: "INFINITY", -math.inf: "-INFINITY"}.get(plain, "NAN")
    text = repr(float(plain))
    text = text if "." in text or "e" in text else f"{text}.0"
    return f"{text}f" if real == "float" else text


def call_text(function: str, args: list[str], kinds: list[str], real: str) -> str:
    """A function of texts. Those that stand in brackets need none around them."""
    suffix = "f" if real == "float" else ""
    if function in _BINARY:
        return f"({args[0]} {_BINARY[function]} {args[1]})"
    if function in ("max", "min"):
        sign = ">" if function == "max" else "<"
        return f"({args[0]} {sign} {args[1]} ? {args[0]} : {args[1]})"
    if function == "where":
        return f"({args[0]} ? {args[1]} : {args[2]})"
    if function in ("float", "int"):
        return f"({KINDS[function]})({args[0]})"
    if function in POLYNOMIALS:
        return f"{macro(function)}({args[0]})"
    simple: dict[str, str] = {
        "neg": f"(-{args[0]})", "not": f"(!{args[0]})", "rsqrt": f"(1 / sqrt{suffix}({args[0]}))",
        "isnan": f"({args[0]} != {args[0]})", "isinf": f"isinf({args[0]})", "round": f"rint{suffix}({args[0]})",
        "abs": f"fabs{suffix}({args[0]})" if kinds[0] == "float" else f"labs({args[0]})",
    }  # fmt: skip
    if function in simple:
        return simple[function]
    if function in _LIBRARY:
        return f"{function}{suffix}({', '.join(args)})"
    raise KeyError(function)


def index_text(index: Index, look: Callable[[Value], str], divide: str = "/") -> str:
    """As arithmetic over axes and sizes. Quotients are of numbers that are not negative, or the caller guards them."""
    parts = [_term_text(term, factor, look, divide) for term, factor in index.terms]
    if index.offset != Size.of(0) or not parts:
        parts.append(size_text(index.offset, divide))
    return " + ".join(parts).replace("+ -", "- ")


def _term_text(term: Term, factor: Size, look: Callable[[Value], str], divide: str) -> str:
    if isinstance(term, Looked):
        name = look(term.value)
    elif isinstance(term, Quotient | Remainder):
        sign = divide if isinstance(term, Quotient) else "%"
        name = f"({index_text(term.of, look, divide)}) {sign} {factor_text(term.by, divide)}"
        name = f"({name})"
    else:
        name = term.name
    if factor == ONE:
        return name
    return f"-{name}" if factor == -ONE else f"{name} * {factor_text(factor, divide)}"


def size_text(size: Size, divide: str = "/") -> str:
    return size.text.replace("//", divide)


def factor_text(size: Size, divide: str = "/") -> str:
    return size.factor_text.replace("//", divide)


def joined(how: str, name: str, found: str) -> str:
    if how in ("sum", "prod"):
        return f"{name} {'+' if how == 'sum' else '*'}= {found};"
    return f"{name} = {found} {'>' if how == 'max' else '<'} {name} ? {found} : {name};"


def mixed(axes: tuple[Axis, ...], divide: str = "/") -> str:
    """The place in the order of several axes."""
    text = axes[0].name
    for axis in axes[1:]:
        text = f"({text}) * {factor_text(axis.extent, divide)} + {axis.name}"
    return text


def bare(text: str) -> str:
    """Without brackets around the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and i < len(text) - 1:
            return text
    return text[1:-1]


def prelude(texts: Sequence[str], real: str) -> str:
    """What the functions need before them."""
    whole = "\n".join(texts)
    lines = ["#include <limits.h>", "#include <math.h>", *(["#include <stdlib.h>"] if "labs(" in whole else [])]
    lines += ["", f"typedef {real} real;", ""]
    lines.append(definitions(whole, real))
    if "bf16(" in whole:
        lines.append(BFLOAT16)
    return "\n".join(lines)
