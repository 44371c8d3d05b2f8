"""A shape in short, as "1024x1024x1": of a record too, whose names are sorted.

Not covered: a task file's own names, which a record does not keep in order; reading the file would run it.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernellab.tasks.spec import in_order


def extents(task: str, dims: Mapping[str, int]) -> str:
    """In the order of a built-in task, which --shape reads; any other's as they come."""
    from kernellab.tasks.builtin import TASKS

    known = TASKS.get(task)
    ordered = in_order(dims, known) if known is not None and set(known.dim_names) == set(dims) else dims
    return "x".join(map(str, ordered.values()))
