"""A problem at reduced sizes, for devices that its own are too large for: numbers made smaller, everything else as it is.

A file's text is changed in memory and handed to the capture process; nothing of a suite is written anywhere. A number is
shrunk when it is assigned at the top level, by itself, computed from numbers (1 << 20) or in a tuple of numbers, or when it
is a setting of a folder. Which of the attempts runs is found out in the sandbox: some sizes must divide others, and kernels
must fit into images.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kernellab.graph.source import Request

LIMITS = (64, 48, 32, 24, 16, 24, 32, 48, 64, 96, 128, 256, 512, 10**9)
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift, ast.Pow: operator.pow,
}  # fmt: skip
_MOST_SHIFTED = 64
_LARGEST = 1 << 64
"""No size is larger. Numbers without end would be halved without end."""
MOST = (1 << 18,) * 4 + (1 << 22,) * 5 + (1 << 23,) * 5
"""The limits in the order in which they are tried, and the elements of inputs and weights that each may have: first the
largest sizes that are quick, then the smallest that run. Very small sizes hide things: groups of one are constant."""


def attempts(request: Request, text: str) -> list[tuple[Request, int]]:
    """Ways to make a problem small, the best first, and how many elements of inputs and weights each may have."""
    try:
        cut = [
            (replace(request, text=shrunk(text, limit), init=shrunk_settings(request.init, limit),
                     inputs=shrunk_settings(request.inputs, limit)), most)
            for limit, most in zip(LIMITS, MOST, strict=True)
        ]  # fmt: skip
        return [*cut, (replace(request, text=small_batch(text)), MOST[-1])]
    except (SyntaxError, ValueError, RecursionError):  # the capture says what is wrong with it
        return []


def shrunk(text: str, limit: int) -> str:
    """The file with its sizes cut to about `limit`. Sizes that differ go on differing where that is possible: as many
    groups as channels would be another problem."""
    tree = ast.parse(text)
    values = [s.value for s in tree.body if isinstance(s, ast.Assign)]
    sizes = _apart({n for v in values for n in _numbers(v)}, limit)
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            statement.value = _cut(statement.value, sizes)
    return ast.unparse(ast.fix_missing_locations(tree))


def small_batch(text: str) -> str:
    """Only the first size cut, which is the batch: for problems whose other sizes depend on each other."""
    tree = ast.parse(text)
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and _number(statement.value) is not None:
            statement.value = ast.Constant(2)
            break
    return ast.unparse(ast.fix_missing_locations(tree))


def shrunk_settings(settings: dict[str, Any] | None, limit: int) -> dict[str, Any] | None:
    """The same for sizes that a folder's settings give."""
    return settings and {k: _smaller(v, limit) if type(v) is int else v for k, v in settings.items()}


def _apart(numbers: set[int], limit: int) -> dict[int, int]:
    """Each number and what becomes of it; a quarter of the next larger one where both would be the same."""
    found: dict[int, int] = {}
    last = 0
    for number in sorted(numbers, reverse=True):
        cut = _smaller(number, limit)
        if cut != number and last and cut >= last and last >= 16:
            cut = last // 4
        found[number] = last = cut
    return found


def _numbers(node: ast.expr) -> list[int]:
    if isinstance(node, ast.Tuple | ast.List):
        return [n for e in node.elts for n in _numbers(e)]
    value = _number(node)
    return [] if value is None else [value]


def _cut(node: ast.expr, sizes: dict[int, int]) -> ast.expr:
    if isinstance(node, ast.Tuple | ast.List):
        node.elts = [_cut(e, sizes) for e in node.elts]
        return node
    value = _number(node)
    return node if value is None else ast.Constant(sizes[value])


def _number(node: ast.expr) -> int | None:
    """The integer that an expression of nothing but integers gives, if it can be a size."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value if abs(node.value) < _LARGEST else None
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATORS:
        return None
    left, right = _number(node.left), _number(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.LShift | ast.Pow) and not (0 <= right <= _MOST_SHIFTED and abs(left) < 1 << 16):
        return None
    if isinstance(node.op, ast.FloorDiv) and not right:
        return None
    value = _OPERATORS[type(node.op)](left, right)
    return value if abs(value) < _LARGEST else None


def _smaller(value: int, limit: int) -> int:
    """Halved until it fits; what is left keeps its odd part where that is small."""
    while value > limit:
        value = value // 2 if value % 2 == 0 else value // 2 | 1
    return value
