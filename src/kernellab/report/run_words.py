"""What is said of a run and its results in a line: the same words in a terminal and on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernellab.ledger.records import AnyResult, Published
from kernellab.tasks.extents import extents

if TYPE_CHECKING:
    from kernellab.report.run_list import RunRow

_NAMED_SHAPES = 2


def speedup(result: Published) -> str:
    """A speed-up never goes without its interval."""
    return f"{result.speedup:.3f}x [{result.speedup_low:.3f}, {result.speedup_high:.3f}]"


def shapes_of(row: RunRow) -> str:
    labels = [extents(row.task, dims) for dims in row.shapes]
    more = f" and {len(labels) - _NAMED_SHAPES} more" if len(labels) > _NAMED_SHAPES else ""
    return (", ".join(labels[:_NAMED_SHAPES]) or "no shape") + more


def outcome(result: AnyResult | None) -> str:
    """What a shape came to."""
    if result is None:
        return "-"
    if not isinstance(result, Published):
        return result.status
    mark = "" if result.win else " (busy)" if result.status == "busy" else " (no win)"
    return f"{speedup(result)} over {result.baseline}{mark}"


def compared(result: AnyResult | None) -> str:
    """A shape's cell where runs stand side by side."""
    latency = f"{result.latency_s * 1e3:.4g} ms, " if isinstance(result, Published) else ""
    return f"{latency}{outcome(result)}"
