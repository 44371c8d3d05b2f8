"""Carrying a task's functions into a file of their own: source text, the helpers and constants they use, the imports.

The task is the user's own code and trusted like any script of theirs. What cannot be written down (a lambda, an object
of a class, a closure over one) is refused by name.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

_OURS = ("kernellab", "klab_task_")
_OWN_NAMES = ("answers", "torch_answers", "_of_something")  # of the file that the text goes into


class NotInlined(Exception):
    """A function that needs something which has no text; says what."""


class _Strip(ast.NodeTransformer):
    """Annotations go: nobody evaluates them, and their names would have to be carried too."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.returns = None
        self.generic_visit(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        return node if node.value is None else ast.Assign([node.target], node.value, lineno=node.lineno)


class _Load:
    """What has been written down so far, in the order in which it must stand."""

    def __init__(self, reserved: Mapping[str, Any]) -> None:
        self._reserved = reserved
        self.imports: dict[str, str] = {}
        self.constants: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self._taken: dict[str, Any] = {}

    def function(self, function: Callable[..., Any]) -> str:
        """Carry one function and all it needs; returns the name it has in the text."""
        plain = inspect.unwrap(function)
        if not isinstance(plain, FunctionType) or plain.__name__ == "<lambda>":
            raise NotInlined(f"{getattr(plain, '__name__', plain)!s} is no function with a text of its own")
        if self._known(plain.__name__, function):
            return plain.__name__
        try:
            text = textwrap.dedent(inspect.getsource(plain))
            tree = _Strip().visit(ast.parse(text))
        except (OSError, TypeError, SyntaxError) as err:
            raise NotInlined(f"the text of {plain.__name__} cannot be read: {err}") from None
        for name in _free_names(tree):
            self._need(name, plain)
        self.functions[plain.__name__] = ast.unparse(ast.fix_missing_locations(tree))
        return plain.__name__

    def _need(self, name: str, user: FunctionType) -> None:
        cells = dict(zip(user.__code__.co_freevars, user.__closure__ or (), strict=True))
        if name in cells:
            self._value(name, cells[name].cell_contents)
        elif name in user.__globals__:
            self._value(name, user.__globals__[name])
        elif not hasattr(builtins, name):
            raise NotInlined(f"{user.__name__} uses '{name}', which is nowhere to be found")

    def _value(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            self._import(name, value.__name__, "")
        elif callable(value) and _is_ours(value):
            found = self.function(value)
            if found != name:
                self.constants[name] = found
        elif callable(value):
            self._import(name, str(getattr(value, "__module__", "")), str(getattr(value, "__qualname__", "")))
        elif not self._known(name, value):
            self.constants[name] = _literal(name, value)

    def _import(self, name: str, module: str, member: str) -> None:
        if not module or module.startswith(_OURS) or "." in member:
            raise NotInlined(f"'{name}' of {module or 'nowhere'} cannot be imported elsewhere")
        if self._known(name, (module, member)):
            return
        as_name = "" if name == (member or module) else f" as {name}"
        self.imports[name] = f"from {module} import {member}{as_name}" if member else f"import {module}{as_name}"

    def _known(self, name: str, value: Any) -> bool:
        """Whether this name is carried already; for another value it would be ambiguous."""
        if name in self._reserved and self._reserved[name] is not value:
            raise NotInlined(f"the name '{name}' means something else in the exported code")
        if name not in self._taken:
            self._taken[name] = value
            return False
        if self._taken[name] is not value and self._taken[name] != value:
            raise NotInlined(f"the name '{name}' means two things")
        return True


def inline_source(functions: Mapping[str, Callable[..., Any]]) -> str:
    """The text of a module that defines these functions under these names. Raises NotInlined."""
    load = _Load({**dict.fromkeys(_OWN_NAMES), **functions})
    names = {wanted: load.function(function) for wanted, function in functions.items()}
    aliases = [f"{wanted} = {found}" for wanted, found in names.items() if wanted != found]
    parts = [
        "\n".join(sorted(load.imports.values())),
        "\n".join(f"{name} = {text}" for name, text in load.constants.items()),
        *(f"\n{text}" for text in load.functions.values()),
        "\n" + "\n".join(aliases) if aliases else "",
    ]
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def _free_names(tree: ast.AST) -> list[str]:
    """Names that are read and never set inside; in the order in which they appear."""
    own = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    own |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    own |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    imports = [a for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names]
    own |= {(a.asname or a.name).partition(".")[0] for a in imports}
    read = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return [name for name in dict.fromkeys(read) if name not in own]


def _is_ours(value: Any) -> bool:
    plain = inspect.unwrap(value) if isinstance(value, (FunctionType, functools._lru_cache_wrapper)) else value
    return isinstance(plain, FunctionType) and str(plain.__module__).startswith(_OURS)


def _literal(name: str, value: Any) -> str:
    """Plain data as it would be typed."""
    text = repr(value)
    try:
        same = ast.literal_eval(text) == value
    except (ValueError, SyntaxError):
        same = False
    if not same:
        raise NotInlined(f"'{name}' is an object of {type(value).__name__}, not plain data")
    return text
