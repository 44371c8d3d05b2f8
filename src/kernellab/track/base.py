"""What a tracker is told: a name and facts at the start, figures as they come, a summary at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

Fact = str | int | float
PROJECT = "kernellab"
"""The project, or experiment, that runs are filed under."""


class Tracker(Protocol):
    def begin(self, name: str, facts: Mapping[str, Fact]) -> None: ...

    def log(self, figures: Mapping[str, float], step: int) -> None: ...

    def end(self, summary: Mapping[str, Fact]) -> None: ...


@dataclass(frozen=True)
class TrackerKind:
    """`package`: what is imported for it; `extra`: of kernellab, that installs it. Only `open` imports it."""

    name: str
    package: str
    extra: str
    open: Callable[[], Tracker]
