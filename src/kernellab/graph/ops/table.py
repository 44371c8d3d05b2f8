"""The one table of operators: a row for each core ATen operator that a graph may hold.

A row says what class of operator it is, what shape its results have, how scales go through it, whether it is linear, whether
it is a view, and what it means where that is not torch's own. A new operator is a new row in the file of its class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from kernellab.graph.ops.pairs import Call, Scaled
from kernellab.graph.ops.shapes import Shape

Kind = Literal[
    "pointwise", "compare", "reduction", "arg", "contraction", "window", "norm", "softmax", "attention", "scan", "gather",
    "layout", "factory", "sort", "loss", "recurrent",
]  # fmt: skip
ScaleRule = Callable[[Call], Scaled]
ShapeRule = Callable[[list[Any], dict[str, Any]], "list[Shape | None]"]
Meaning = Callable[[Any, list[Any], dict[str, Any]], Any]
"""Torch, the arguments and the keywords, as tensors and plain values: the results in float64."""


@dataclass(frozen=True)
class Op:
    """`name` is "aten.add" for all overloads, or "aten.max.dim" for one. `linear`: in its tensors together, or in each.

    Without a `scale` rule the scale is the magnitude of the result, and the outcome says so.
    """

    name: str
    kind: Kind
    scale: ScaleRule | None
    shape: ShapeRule | None
    linear: bool = False
    view: bool = False
    meaning: Meaning | None = None


def ops(names: str, kind: Kind, scale: ScaleRule | None, shape: ShapeRule | None, **more: Any) -> list[Op]:
    """One row for each of the names, which share everything else."""
    return [Op(f"aten.{name}", kind, scale, shape, **more) for name in names.split()]


@cache
def table() -> dict[str, Op]:
    from kernellab.graph.ops import (
        attention,
        compare,
        contractions,
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
    )  # fmt: skip

    files = (
        attention, compare, contractions, factories, gather, layout, losses, norms, pointwise, recurrent, reductions,
        scans, sorts, windows,
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
