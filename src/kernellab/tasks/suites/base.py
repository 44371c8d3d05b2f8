"""What a format of problems has to say. A format is one file here and one line in the registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kernellab.graph.source import Request


@dataclass(frozen=True)
class Problem:
    """One problem of somebody else's: what to capture, what it is called, and where it is from."""

    request: Request
    name: str
    suite: str = ""


class Format(Protocol):
    """`form` is how a locator of this format is written, for messages."""

    form: str

    def recognises(self, locator: str) -> bool:
        """Whether a locator is of this format, without running anything of it."""

    def problem(self, locator: str) -> Problem:
        """The problem that a locator names."""

    def problems(self, path: str) -> list[Problem]:
        """Every problem under a path, in order; none where the path holds no such thing."""
