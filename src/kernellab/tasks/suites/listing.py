"""A suite as a list for people: what each of its problems is called, what it says of itself, and how it is named elsewhere.

Read from the files' text: nothing of them is run.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from kernellab.tasks.suites.base import Problem
from kernellab.tasks.suites.finding import Suite

_MOST = 100


@dataclass(frozen=True)
class SuiteLine:
    """`locator`: as 'klab check' and 'klab run' take it."""

    name: str
    about: str
    locator: str


def lines_of(suite: Suite) -> list[SuiteLine]:
    return [SuiteLine(p.name, _about(p), _locator(suite, p)) for p in suite.problems]


def _locator(suite: Suite, problem: Problem) -> str:
    if not suite.path:
        return f"{suite.name}:{problem.name}"
    if problem.suite == "robust-kbench":
        return str(Path(problem.request.file).parent)
    return problem.request.file


def _about(problem: Problem) -> str:
    """The first line of its file's text, or of its class's."""
    if problem.broken is not None:
        return f"cannot be read: {problem.broken.what}"
    try:
        tree = ast.parse(problem.request.text or Path(problem.request.file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return "cannot be read"
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == problem.request.name]
    said = ast.get_docstring(tree) or next((ast.get_docstring(c) or "" for c in classes), "")
    return (said.strip().splitlines() or [""])[0][:_MOST]
