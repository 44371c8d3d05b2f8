"""FILE.py:Class or FILE.py:function with get_inputs() and get_init_inputs(): KernelBench's form, and anybody's own file."""

from __future__ import annotations

import ast
import os
from pathlib import Path

from kernellab.graph.capture import parse
from kernellab.graph.source import Request
from kernellab.tasks.suites.base import Problem

_INPUTS, _TASK = "get_inputs", "TASK"


class ModuleFile:
    form = "FILE.py:Class or FILE.py:function"

    def recognises(self, locator: str) -> bool:
        """By the name after the colon, or by what the file defines: get_inputs() and no TASK."""
        path, _, name = locator.rpartition(":")
        if path.endswith(".py") and not os.path.isfile(locator):
            return not name.endswith(".py")
        return locator.endswith(".py") and _defines(locator)

    def problem(self, locator: str) -> Problem:
        request = parse(locator)
        stem = Path(request.file).stem
        plain = not request.name or request.name == "Model"
        return Problem(request, stem if plain else f"{stem}-{request.name}")

    def problems(self, path: str) -> list[Problem]:
        files = sorted(Path(path).glob("*.py"), key=_number) if os.path.isdir(path) else []
        return [
            Problem(Request(str(f.resolve()), "Model"), f.stem, Path(path).name) for f in files if _in_suite(str(f))
        ]


def _defines(path: str) -> bool:
    tree = _parsed(path)
    if tree is None:
        return False
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    assigned = {t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    return _INPUTS in functions and _TASK not in assigned


def _in_suite(path: str) -> bool:
    """A file that cannot be read is listed too: the capture says what is wrong with it."""
    return _parsed(path) is None or _defines(path)


def _parsed(path: str) -> ast.Module | None:
    try:
        return ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _number(path: Path) -> tuple[int, str]:
    """KernelBench numbers its problems: 2 comes before 10."""
    head = path.name.partition("_")[0]
    return int(head) if head.isdigit() else 0, path.name
