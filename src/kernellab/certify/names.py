"""Names in exported Python: a user's name that the code around it uses for something else is changed, and no other.

What is taken is read from the templates themselves: every name in a function in which names of the task stand, where it is
not a variable of a comprehension (those do not reach outside it).
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"
_USER = "THE_TASKS_OWN"
_MODULES = frozenset({"host", "device", "op", "reference", "_launch"})


def fresh(name: str, taken: Iterable[str]) -> str:
    """The name itself, or with underscores behind it where it is taken or a word of Python."""
    taken = {*taken, *keyword.kwlist}
    while name in taken:
        name += "_"
    return name


def plain_name(name: str) -> str:
    """A task's name in the signs that package indexes and C compilers take: others by their numbers, so that names which
    differ stay different."""
    return "".join(
        sign if re.fullmatch("[0-9A-Za-z_]", sign) else "_" if sign.isascii() else f"u{ord(sign):x}" for sign in name
    )


def fresh_function(name: str) -> str:
    """A task's name as that of a function beside everything that the exported modules define, import or call."""
    plain = plain_name(name)
    taken = plain in _everywhere() or plain in _MODULES or keyword.iskeyword(plain) or hasattr(builtins, plain)
    return f"task_{plain}" if taken or not plain.isidentifier() else plain


@cache
def taken_locally() -> frozenset[str]:
    """Names of the code among which inputs and dims stand."""
    functions = [f for tree in _trees() for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)]
    return frozenset().union(*(_names(f) for f in functions if any(_USER in n for n in _names(f)))) - {_USER}


@cache
def _everywhere() -> frozenset[str]:
    return frozenset().union(*(_names(tree) for tree in _trees()))


@cache
def _trees() -> tuple[ast.Module, ...]:
    return tuple(_parsed(path.read_text()) for path in sorted(TEMPLATES.glob("*.py.j2")))


def _parsed(template: str) -> ast.Module:
    """A template as Python: all branches, and a name in place of everything that is filled in."""
    lines = [line for line in template.splitlines() if not re.fullmatch(r"\s*\{%.*%\}\s*", line)]
    filled = re.sub(r"\{\{.*?\}\}", _USER, re.sub(r"\{%.*?%\}", "", "\n".join(lines)))
    return ast.parse(re.sub(rf"{_USER}(?:, {_USER})+", _USER, filled))


def _names(tree: ast.AST) -> frozenset[str]:
    nodes = list(ast.walk(tree))
    inner = {id(n) for c in nodes if isinstance(c, ast.comprehension) for n in ast.walk(c.target)}
    bound = {n.id for n in nodes if isinstance(n, ast.Name) and id(n) in inner}
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in inner}
    found = {n.id for n in nodes if isinstance(n, ast.Name)} - (bound - stored)
    found |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    found |= {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    aliases = [a for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names]
    return frozenset(found | {(a.asname or a.name).partition(".")[0] for a in aliases})
