"""Numbers that are computed from sizes and are no whole ones: 1 / sqrt(width) as a value of the loop form."""

from __future__ import annotations

import ast

from kernellab.lower.axes import Index
from kernellab.lower.sizes import Size
from kernellab.lower.values import Value, apply, number, place

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
}
_SAME = ("float", "sym_float")


def is_real(expression: str) -> bool:
    """Whether it may be a fraction."""
    for node in ast.walk(ast.parse(expression, mode="eval")):
        if isinstance(node, ast.Div | ast.Pow) or (isinstance(node, ast.Constant) and isinstance(node.value, float)):
            return True
        if isinstance(node, ast.Call) and _called(node) in ("sqrt", "_sym_sqrt", *_SAME):
            return True
    return False


def real_value(expression: str) -> Value:
    """Raises ValueError for arithmetic that is not in it."""
    return _value(ast.parse(expression, mode="eval").body)


def _value(node: ast.expr) -> Value:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return number(float(node.value))
    if isinstance(node, ast.Name):
        return apply("float", place(Index.of(Size.of(node.id))))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return apply("neg", _value(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow) and right is number(0.5):
            return apply("sqrt", left)
        return apply(_BINARY[type(node.op)], left, right)
    if isinstance(node, ast.Call):
        name, args = _called(node), [_value(a) for a in node.args]
        if name in _SAME:
            return args[0]
        if name in ("sqrt", "_sym_sqrt"):
            return apply("sqrt", args[0])
        if name in ("min", "max", "sym_min", "sym_max"):
            return apply(name.removeprefix("sym_"), *args)
    return apply("float", place(Index.of(Size.of(ast.unparse(node)))))


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""
