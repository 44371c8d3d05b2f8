"""Mutants of a module: where one could be made, what it is called, and its text.

A mutant is named by its module, its function, what is done there and the how-manieth place of that sort it is, so its name
stays the same when lines move. Left alone: types, docstrings, the text of messages, asserts and decorators.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Change = Callable[[ast.AST], ast.AST | None]


@dataclass(frozen=True, order=True)
class Mutant:
    """`module` is a path under src/kernellab, `function` a qualified name, or `-` for the module's own statements."""

    module: str
    function: str
    operator: str
    number: int

    def __str__(self) -> str:
        return f"{self.module} {self.function} {self.operator} {self.number}"

    @classmethod
    def named(cls, line: str) -> Mutant:
        module, function, operator, number = line.split()
        return cls(module, function, operator, int(number))


def mutants_of(module: str, text: str) -> list[Mutant]:
    counts: Counter[tuple[str, str]] = Counter()
    found = []
    for function, operator, _, _ in _places(ast.parse(text)):
        counts[function, operator] += 1
        found.append(Mutant(module, function, operator, counts[function, operator]))
    return found


def apply(mutant: Mutant, text: str) -> tuple[str, str]:
    """The module's text with the mutant in it, and the change in one line."""
    tree = ast.parse(text)
    fitting = (p for p in _places(tree) if p[:2] == (mutant.function, mutant.operator))
    _, _, node, changed = next(p for n, p in enumerate(fitting, 1) if n == mutant.number)
    before = ast.unparse(node).splitlines()[0]
    line = getattr(node, "lineno", 0)
    _put(tree, node, changed)
    return ast.unparse(
        ast.fix_missing_locations(tree)
    ), f"line {line}: {before} -> {ast.unparse(changed).splitlines()[0]}"


def _places(tree: ast.Module) -> Iterator[tuple[str, str, ast.AST, ast.AST]]:
    """Function, operator, node and its replacement, in the order of the text."""
    stack: list[tuple[ast.AST, str]] = [(tree, "-")]
    while stack:
        node, function = stack.pop()
        for operator, change in OPERATORS.items():
            if (changed := change(node)) is not None:
                yield function, operator, node, changed
        stack += [(child, _inside(node, function)) for child in reversed(list(_children(node)))]


def _inside(node: ast.AST, function: str) -> str:
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return function
    return node.name if function == "-" else f"{function}.{node.name}"


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.JoinedStr, ast.Assert)):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        yield from (v for v in (value if isinstance(value, list) else [value]) if isinstance(v, ast.AST))


def _put(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list):
                value[:] = [new if v is old else v for v in value]


_COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}  # fmt: skip


def _compare(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.Compare):
        return None
    changed = copy.deepcopy(node)
    changed.ops[0] = _COMPARISONS[type(node.ops[0])]()
    return changed


def _calculate(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.BinOp) or type(node.op) not in _ARITHMETIC or _is_text(node):
        return None
    return ast.BinOp(copy.deepcopy(node.left), _ARITHMETIC[type(node.op)](), copy.deepcopy(node.right))


def _is_text(node: ast.AST) -> bool:
    """Whether it puts strings or types together: a change of that is an error of its own, whoever tests it."""
    return any(
        isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and (n.value is None or isinstance(n.value, str)))
        for n in ast.walk(node)
    )


def _junction(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), copy.deepcopy(node.values))
    return None


def _negation(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return copy.deepcopy(node.operand)
    return None


def _constant(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, (bool, int, float)):
        return None
    value = node.value
    if isinstance(value, bool):
        return ast.Constant(not value)
    return ast.Constant(value + 1 if isinstance(value, int) else value * 1.5 or 1.0)


def _returned(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        return ast.Return(ast.Constant(None))
    return None


def _always(node: ast.AST) -> ast.AST | None:
    return _with_test(node, True) if isinstance(node, (ast.If, ast.IfExp)) else None


def _never(node: ast.AST) -> ast.AST | None:
    return _with_test(node, False) if isinstance(node, (ast.If, ast.IfExp)) else None


def _with_test(node: ast.AST, value: bool) -> ast.AST:
    changed = copy.deepcopy(node)
    changed.test = ast.Constant(value)  # type: ignore[attr-defined]
    return changed


def _dropped(node: ast.AST) -> ast.AST | None:
    """A statement that only does something: a call, an error raised, a sum carried on, a finding told."""
    told = isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Yield, ast.YieldFrom))
    return ast.Pass() if told or isinstance(node, (ast.Raise, ast.AugAssign)) else None


OPERATORS: dict[str, Change] = {
    "compare": _compare, "calculate": _calculate, "and-or": _junction, "not": _negation, "constant": _constant,
    "return": _returned, "if-true": _always, "if-false": _never, "drop": _dropped,
}  # fmt: skip
