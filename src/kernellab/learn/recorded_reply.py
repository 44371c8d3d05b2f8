"""A recorded candidate as a policy would have replied it: with the parameters that were tried as their only choices."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from kernellab.core.records import Param
from kernellab.propose.carve import carve


def as_reply(source: str, params: Mapping[str, Param], why: str) -> str:
    """`source`: the candidate file; of one that is a task file too, the candidate alone, since a task names what it keeps
    back."""
    text = _fixed(carve(source) if "held_out" in source else source, params)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    think = " ".join(why.split())
    return f"<think>{think}</think>\n<answer>\n{fence}python\n{text.strip()}\n{fence}\n</answer>"


def _fixed(text: str, params: Mapping[str, Param]) -> str:
    """The file with its SPACE narrowed to what was tried."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    lines = text.splitlines(keepends=True)
    for node in body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id == "SPACE":
            space = f"SPACE = { ({name: [value] for name, value in params.items()})!r}\n"
            return "".join([*lines[: node.lineno - 1], space, *lines[node.end_lineno :]])
    return text
