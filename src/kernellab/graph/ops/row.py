"""What is known of an operator: a row of the table.

A row says what class of operator it is, what shape its results have, how scales go through it, whether it is linear, whether
it is a view, and what it means where that is not torch's own. A new operator is a new row in the file of its class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
