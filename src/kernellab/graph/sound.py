"""What a graph record may name. A record may come from anybody's file, and its operators run in the laboratory's process.

Covered: names that are no names (they become Python and C text), operators that are not torch's own, that write to their
arguments, or that give anything but tensors (files are among those). Not covered: mistakes in torch's own operators.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from typing import Any

from kernellab.graph.ops.refused import refusal

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_OPERATOR = re.compile(r"aten\.\w+\.\w+", re.ASCII)
_TENSORS = ("Tensor", "Optional[Tensor]", "List[Tensor]", "List[Optional[Tensor]]")


def check_names(names: Iterable[str]) -> None:
    """A ValueError for what is no name in Python and C alike."""
    for name in names:
        if not _is_name(name):
            raise ValueError(f"{name[:80]!r} is no name")


def check_operator(op: str) -> None:
    """A ValueError for what is no operator of torch's, or one that no task can have."""
    if not _OPERATOR.fullmatch(op):
        raise ValueError(f"{op[:80]!r} is no operator")
    if reason := refusal(op):
        raise ValueError(f"{op}: {reason.what}")


def function_of(torch: Any, op: str) -> Any:
    """Torch's function for an operator of a record: one that makes tensors of its arguments, and does nothing else."""
    check_operator(op)
    _, packet, overload = op.split(".")
    function = getattr(getattr(torch.ops.aten, packet, None), overload, None)
    schema = getattr(function, "_schema", None)
    if schema is None:
        raise ValueError(f"this torch has no {op}")
    if schema.is_mutable or not schema.returns or any(str(r.type) not in _TENSORS for r in schema.returns):
        raise ValueError(f"{op} does more than make tensors of its arguments")
    return function


def _is_name(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and not keyword.iskeyword(name)
