"""A candidate file without what its author says of it: docstring, comments, and constants that name its purpose.

Files of the gauntlet say in words that they cheat, and how they are caught. A verifier that is measured on them must
judge by the code alone.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize

from kernellab.propose.prompts.python_text import UNREADABLE, parsed

_SAYS = frozenset({"TASK", "TASKS", "THREADS", "STAGE", "HARMLESS", "CAUGHT_BY"})
_C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def bare(source: str) -> str:
    """The same code; as it was where it is no Python, or where it would be none afterwards."""
    text = source.replace("\r\n", "\n")
    try:
        without = _without_c_comments(_without_comments(_without_statements(text)))
        parsed(without)
    except (*UNREADABLE, tokenize.TokenError):
        return source
    return re.sub(r"\n{3,}", "\n\n\n", without).strip("\n") + "\n"


def _without_statements(text: str) -> str:
    tree = parsed(text)
    lines: list[str] = text.split("\n")
    for node in tree.body:
        if _is_docstring(node, tree) or _says(node):
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            lines[first:last] = [""] * (last - first)
    return "\n".join(lines)


def _is_docstring(node: ast.stmt, tree: ast.Module) -> bool:
    return node is tree.body[0] and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _says(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id in _SAYS for t in node.targets)


def _without_comments(text: str) -> str:
    lines = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            lines[line - 1] = lines[line - 1][:column].rstrip()
    return "\n".join(lines)


def _without_c_comments(text: str) -> str:
    """Inside SOURCE only; line ends stay, so that compilers count as before."""
    lines = text.split("\n")
    for node in parsed(text).body:
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
            continue
        if node.targets[0].id == "SOURCE":
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            inner = "\n".join(lines[first:last])
            stripped = _C_COMMENT.sub(lambda m: "\n" * m[0].count("\n"), inner)
            lines[first:last] = stripped.split("\n")
    return "\n".join(line.rstrip() for line in lines)
