"""The text of a task's reference as a prompt may show it: the function, the helpers it needs, nothing around it.

Comments and docstrings are left out: they are written for people who may know the held-out shapes. A lambda is cut out
of the statement it stands in, which may be the whole Task(...) with every shape.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

MOST_CHARACTERS = 6000
UNAVAILABLE = "# the reference's source is not available: go by the description"
_MOST_PARTS = 12
_PLAIN = (int, float, bool, str, tuple, list, dict, type(None))


def reference_text(function: Callable[..., Any]) -> str:
    """The reference's source with the constants and functions of its own file that it uses, helpers first."""
    parts: dict[str, str] = {}
    _collect(function, parts)
    helpers_first = list(parts.values())[::-1]
    text = "\n\n".join(sorted(helpers_first, key=lambda part: not part.startswith("import ")))
    return text if text and len(text) <= MOST_CHARACTERS else _own_text(function) or UNAVAILABLE


def _collect(function: Callable[..., Any], parts: dict[str, str]) -> None:
    """Depth first; `parts` goes from the function itself to what it needs."""
    own = _own_text(function)
    name = getattr(function, "__name__", "reference")
    if not own or name in parts or len(parts) >= _MOST_PARTS:
        return
    parts[name] = own
    for used, value in _needs(function, own):
        if used in parts:
            continue
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            _collect(value, parts)
        elif isinstance(value, _PLAIN) and len(repr(value)) <= 300 and not _holds_objects(value):
            parts[used] = f"{used} = {value!r}"
        elif isinstance(value, ModuleType):
            parts[used] = _import(used, value)


def _needs(function: Callable[..., Any], own: str) -> Iterable[tuple[str, Any]]:
    """Free and global names that the text reads, with their values."""
    code = getattr(function, "__code__", None)
    if code is None:
        return
    cells = dict(zip(code.co_freevars, getattr(function, "__closure__", None) or (), strict=False))
    scope = getattr(function, "__globals__", {})
    for name in dict.fromkeys(n.id for n in ast.walk(ast.parse(own)) if isinstance(n, ast.Name)):
        if name in cells:
            try:
                yield name, cells[name].cell_contents
            except ValueError:
                continue
        elif name in scope:
            yield name, scope[name]


def _own_text(function: Callable[..., Any]) -> str:
    """The function alone, as the parser sees it: no comments, no docstrings; '' where there is no source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError, RecursionError):
        tree = ast.Module([], [])
    name = getattr(function, "__name__", "")
    if name == "<lambda>":
        same = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and _same_arguments(n, function)]
        return f"reference = {ast.unparse(same[0])}" if len(same) == 1 else ""
    named = (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == name)
    found = next(named, None)
    return "" if found is None else ast.unparse(_without_docstrings(found))


def _same_arguments(node: ast.Lambda, function: Callable[..., Any]) -> bool:
    return [a.arg for a in node.args.args] == list(inspect.signature(function).parameters)


def _without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
            for argument in ast.walk(node):
                if isinstance(argument, ast.arg):
                    argument.annotation = None
            if isinstance(node, ast.FunctionDef):
                node.returns = None
    return tree


def _holds_objects(value: Any) -> bool:
    try:
        ast.literal_eval(repr(value))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return True
    return False


def _import(name: str, module: ModuleType) -> str:
    return f"import {module.__name__}" + ("" if module.__name__ == name else f" as {name}")
