"""The candidate inside a task file: what its launch() needs, and nothing of the task around it.

A task file names the shapes that are kept back from whoever writes kernels; the candidate that came with it is shown to
them. So the candidate is cut out: the constants of the candidate format, launch(), kernels, and whatever these use.
"""

from __future__ import annotations

import ast

_PARTS = ("SOURCE", "SPACE", "FLAGS", "TASKS", "launch")


def carve(text: str) -> str:
    """The candidate's own statements in their order, with the file's docstring. A file that is no Python stays as it is:
    the builder says what is wrong with it."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    wanted = _wanted(tree)
    lines = text.splitlines()
    kept = []
    for number, node in enumerate(tree.body):
        docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if docstring or _names(node) & wanted:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            kept.append("\n".join(lines[first - 1 : node.end_lineno]))
    return "\n\n".join(kept) + "\n"


def _wanted(tree: ast.Module) -> set[str]:
    """The names of the candidate's parts and, again and again, of what those use."""
    defined = {name: node for node in tree.body for name in _names(node)}
    open_names = [name for name in _PARTS if name in defined]
    wanted: set[str] = set()
    while open_names:
        name = open_names.pop()
        if name in wanted or name not in defined:
            continue
        wanted.add(name)
        open_names += [n.id for n in ast.walk(defined[name]) if isinstance(n, ast.Name)]
    return wanted


def _names(node: ast.stmt) -> set[str]:
    """What a statement at top level defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(a.asname or a.name).partition(".")[0] for a in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {n.id for t in targets if t is not None for n in ast.walk(t) if isinstance(n, ast.Name)}
