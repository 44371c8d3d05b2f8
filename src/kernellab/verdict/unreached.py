"""Decisions of a captured module that no case of its proof brings about: a kernel that leaves one out would pass.

Chance draws no input beyond every bound, and what lies behind the first operators cannot be planted. Where that is so,
whoever reads a verdict is told.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernellab.graph.record import GraphRecord
from kernellab.tasks.spec import Array, Task


def unreached(task: Task, drawn: Iterable[list[Array]]) -> list[str]:
    """A remark for each side of a decision that none of these inputs reach."""
    if task.captured is None:
        return []
    from kernellab.graph.idle import idle
    from kernellab.graph.need_torch import need_torch
    from kernellab.tasks.modules.host_arrays import tensors

    graph, left = task.captured.graph, None
    with need_torch().no_grad():
        for inputs in drawn:
            found = idle(graph, tensors(graph, inputs))
            left = found if left is None else left & found
            if not left:
                return []
    return _remarks(graph, left or set())


def _remarks(graph: GraphRecord, left: set[tuple[str, str]]) -> list[str]:
    told = []
    for node in graph.nodes:
        name, where = node.op.split(".")[1], f" ({node.line})" if node.line else ""
        sides = sorted(side for owner, side in left if owner == node.name)
        told += [f"no case reaches the {side} of '{name}'{where}: a kernel may leave it out" for side in sides]
    return list(dict.fromkeys(told))
