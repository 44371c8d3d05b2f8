"""What every back end offers: from a candidate text and parameters to machine code and plans, or a reason why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from kernellab.build.plan import Plan
from kernellab.core.records import Artifact, Param
from kernellab.tasks.spec import Dims, Task


@dataclass(frozen=True)
class Candidate:
    """A candidate file as text. `name` is for people."""

    text: str
    name: str


@dataclass(frozen=True)
class Described:
    """What a candidate file says of itself, read in the sandbox."""

    space: dict[str, list[Param]]
    tasks: list[str]
    about: str


@dataclass(frozen=True)
class Built:
    """`plans` are in the order of the shapes asked for; `stubs` maps each step's signature to its symbol.

    `listing` is what a GPU compiler made of it, as text (PTX), for people who read records.
    """

    artifact: Artifact
    code: bytes
    plans: tuple[Plan, ...]
    shapes: tuple[Dims, ...]
    stubs: dict[tuple[str, bool, str], str]
    log: str
    listing: str = ""


@dataclass(frozen=True)
class NotBuilt:
    status: Literal["invalid", "build-failed"]
    reason: str
    log: str = ""


class Builder(Protocol):
    backend: str

    def describe(self, candidate: Candidate) -> Described | NotBuilt: ...

    def build(
        self, task: Task, candidate: Candidate, params: dict[str, Param], shapes: Sequence[Dims]
    ) -> Built | NotBuilt: ...
