"""What a format of problems has to say. A format is one file here and one line in the registry."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kernellab.core.errors import KlabError
from kernellab.graph.source import Request


@dataclass(frozen=True)
class Problem:
    """One problem of somebody else's: what to capture, what it is called, and where it is from.

    `broken` is why it cannot even be read, in a list of problems that goes on with the next. `on_accelerator`: what is
    captured for an accelerator instead, where its author gave other sizes for it. `has_backward`: False where its author
    says that its gradients are no task.
    """

    request: Request
    name: str
    suite: str = ""
    broken: KlabError | None = None
    on_accelerator: Request | None = None
    has_backward: bool = True


def listed(make: Callable[[str], Problem], path: str) -> Problem:
    """A problem of a list: one that cannot be read stands there with the reason."""
    try:
        return make(path)
    except KlabError as fault:
        return Problem(Request(os.path.abspath(path)), Path(path).stem, broken=fault)


class Format(Protocol):
    """`form` is how a locator of this format is written, for messages."""

    form: str

    def recognises(self, locator: str) -> bool:
        """Whether a locator is of this format, without running anything of it."""

    def problem(self, locator: str) -> Problem:
        """The problem that a locator names."""

    def problems(self, path: str) -> list[Problem]:
        """Every problem under a path, in order, broken ones too; none where the path holds no such thing."""
