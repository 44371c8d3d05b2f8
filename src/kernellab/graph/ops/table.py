"""The one table of operators: a row for each core ATen operator that a graph may hold, read from the file of its class."""

from __future__ import annotations

from functools import cache

from kernellab.graph.ops import (
    attention,
    compare,
    contractions,
    derivatives,
    factories,
    gather,
    layout,
    losses,
    norms,
    pointwise,
    recurrent,
    reductions,
    scans,
    sorts,
    windows,
)
from kernellab.graph.ops.row import Op


@cache
def table() -> dict[str, Op]:
    files = (
        attention, compare, contractions, derivatives, factories, gather, layout, losses, norms, pointwise, recurrent,
        reductions, scans, sorts, windows,
    )  # fmt: skip
    rows: dict[str, Op] = {}
    for file in files:
        for row in file.ROWS:
            if row.name in rows:
                raise ValueError(f"two rows for {row.name}")
            rows[row.name] = row
    return rows


def row(op: str) -> Op | None:
    """The row of "aten.add.Tensor": its own, or its family's."""
    return table().get(op) or table().get(op.rsplit(".", 1)[0])


def is_view(op: str) -> bool:
    found = row(op)
    return found is not None and found.view
