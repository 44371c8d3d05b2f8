"""What happens during a run, as it happens: for displays, never for decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "start", "stage", "calibration", "baseline", "trial", "confirming", "confirmation", "result", "end", "note",
    "science", "doing",
]  # fmt: skip


@dataclass(frozen=True)
class Event:
    """`doing`: what is waited for now, for whoever shows it as it changes; a log has no line for it."""

    kind: Kind
    text: str
    data: dict[str, Any] = field(default_factory=dict)


Listener = Callable[[Event], None]


def silent(_: Event) -> None:
    """The listener for those who do not want to know."""
