"""Extents that depend on the inputs' sizes: small arithmetic over symbols, evaluated without eval()."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

Number = int | float

_MOST_BITS = 4096


def _power(base: Number, exponent: Number) -> Number:
    """Whole numbers too long for any size are not computed."""
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > _MOST_BITS:
        raise OverflowError("too large")
    found = base**exponent
    if isinstance(found, complex):
        raise ArithmeticError("not a real number")
    return found


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Div: operator.truediv, ast.Pow: _power,
}  # fmt: skip
_CALLS: dict[str, Callable[..., Any]] = {
    "min": min, "max": max, "abs": abs, "int": int, "float": float,
    "floor": math.floor, "ceil": math.ceil, "sqrt": math.sqrt, "_sym_sqrt": math.sqrt, "sym_float": float, "sym_int": int,
    "sym_max": max, "sym_min": min,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_LONGEST = 2000


@lru_cache(maxsize=4096)
def _parsed(expression: str) -> ast.expr:
    if len(expression) > _LONGEST:
        raise ValueError(f"an extent of {len(expression)} characters")
    try:
        return ast.parse(expression, mode="eval").body
    except SyntaxError:
        raise ValueError(f"'{expression}' is not arithmetic") from None


def symbols_of(expression: str) -> set[str]:
    """The symbols in an expression; a ValueError where it is not the arithmetic that `evaluate` knows."""
    found: set[str] = set()
    _visit(_parsed(expression), found)
    return found


def evaluate(expression: str, symbols: Mapping[str, int]) -> Number:
    """The value at given sizes. Unknown symbols and anything but plain arithmetic are a ValueError."""
    try:
        value = _value(_parsed(expression), symbols)
    except ArithmeticError as err:
        raise ValueError(f"'{expression}': {err}") from None
    assert isinstance(value, int | float)
    return value


def holds(condition: str, symbols: Mapping[str, int]) -> bool:
    """Whether a condition such as "d0 >= 3" or "d0 % 2 == 0 or d1 == 1" is met at given sizes."""
    return _met(_parsed(condition), condition, symbols)


def _met(node: ast.expr, condition: str, symbols: Mapping[str, int]) -> bool:
    if isinstance(node, ast.BoolOp):
        met = (_met(v, condition, symbols) for v in node.values)
        return any(met) if isinstance(node.op, ast.Or) else all(met)
    left, compare, right = _sides(node, condition)
    return bool(compare(_value(left, symbols), _value(right, symbols)))


def conjuncts(condition: str) -> list[str]:
    """The conditions that one joined by "and" is made of."""
    node = _parsed(condition)
    joined = node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) else [node]
    return [ast.unparse(v) for v in joined]


def symbols_of_condition(condition: str) -> set[str]:
    return _used(_parsed(condition), condition)


def _used(node: ast.expr, condition: str) -> set[str]:
    if isinstance(node, ast.BoolOp):
        return {s for v in node.values for s in _used(v, condition)}
    left, _, right = _sides(node, condition)
    return symbols_of(ast.unparse(left)) | symbols_of(ast.unparse(right))


def size(extent: int | str, symbols: Mapping[str, int]) -> int:
    """An extent as a whole number."""
    value = extent if isinstance(extent, int) else evaluate(extent, symbols)
    if not math.isfinite(value) or value != int(value):
        raise ValueError(f"'{extent}' gives {value}, not a whole number")
    return int(value)


def _sides(node: ast.expr, condition: str) -> tuple[ast.expr, Callable[[Any, Any], bool], ast.expr]:
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or type(node.ops[0]) not in _COMPARE:
        raise ValueError(f"'{condition}' is not a comparison")
    return node.left, _COMPARE[type(node.ops[0])], node.comparators[0]


def _name(node: ast.expr) -> str:
    """The function of a call: `min`, or `math.floor` as its last word."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _visit(node: ast.expr, found: set[str]) -> None:
    if isinstance(node, ast.Name):
        found.add(node.id)
    elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        _visit(node.left, found)
        _visit(node.right, found)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        _visit(node.operand, found)
    elif isinstance(node, ast.Call) and _name(node.func) in _CALLS and not node.keywords:
        for argument in node.args:
            _visit(argument, found)
    elif not (isinstance(node, ast.Constant) and type(node.value) in (int, float)):
        raise ValueError(f"'{ast.unparse(node)}' is not arithmetic over sizes")


def _value(node: ast.expr, symbols: Mapping[str, int]) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in symbols:
            raise ValueError(f"there is no size '{node.id}'")
        return symbols[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_value(node.left, symbols), _value(node.right, symbols))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, symbols)
    if isinstance(node, ast.Call) and _name(node.func) in _CALLS and not node.keywords:
        return _CALLS[_name(node.func)](*(_value(a, symbols) for a in node.args))
    raise ValueError(f"'{ast.unparse(node)}' is not arithmetic over sizes")
