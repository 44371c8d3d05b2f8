"""What every back end offers: from a candidate text and parameters to machine code and plans, or a reason why not.

An artifact is a set of parts, one a shape. The candidate's Python runs for each of them in a process of its own, which knows
nothing of the others: the list of shapes is the laboratory's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

from kernellab.build.plan import Plan, plan_bytes
from kernellab.core.ids import sha256_hex
from kernellab.core.records import Artifact, Param, PartRecord, part_id
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
class Part:
    """What one shape runs. `stubs` maps each step's signature to its symbol in the machine code of a C kernel.

    `listing` is what a GPU compiler made of it, as text (PTX), for people who read records.
    `text` hashes the SOURCE and FLAGS it was made of, where there are such: they are the same for every shape.
    """

    dims: Dims
    code: bytes
    plan: Plan
    stubs: dict[tuple[str, bool, str], str] = field(default_factory=dict)
    log: str = ""
    listing: str = ""
    text: str = ""

    @property
    def plan_file(self) -> bytes:
        """The plan as it is stored and hashed."""
        return plan_bytes([self.dims], [self.plan])

    @cached_property
    def record(self) -> PartRecord:
        """Hashed from the bytes themselves: what a runner is handed is what it names."""
        log = self.log.encode()
        return PartRecord(code=sha256_hex(self.code), plan=sha256_hex(self.plan_file), log=sha256_hex(log))

    @property
    def id(self) -> str:
        return part_id(self.record.code, self.record.plan)


@dataclass(frozen=True)
class Built:
    """One part for each shape that was asked for, the timed shape's first."""

    artifact: Artifact
    parts: tuple[Part, ...]

    def number(self, dims: Dims) -> int:
        """Which part is this shape's. ValueError where it was not built."""
        return self.shapes.index(dims)

    def part(self, dims: Dims) -> Part:
        return self.parts[self.number(dims)]

    @property
    def timed(self) -> Part:
        return self.parts[0]

    @cached_property
    def shapes(self) -> tuple[Dims, ...]:
        return tuple(part.dims for part in self.parts)

    @property
    def plans(self) -> tuple[Plan, ...]:
        return tuple(part.plan for part in self.parts)

    @cached_property
    def codes(self) -> tuple[bytes, ...]:
        """Each machine code once, the timed shape's first; parts often share one."""
        return tuple(dict.fromkeys(part.code for part in self.parts))

    @property
    def log(self) -> str:
        return "".join(dict.fromkeys(part.log for part in self.parts))

    @property
    def listing(self) -> str:
        return "\n".join(dict.fromkeys(part.listing for part in self.parts if part.listing))


@dataclass(frozen=True)
class NotBuilt:
    """`dims`: the shape it failed at, where that is known."""

    status: Literal["invalid", "build-failed"]
    reason: str
    log: str = ""
    dims: Dims | None = None


class Builder(Protocol):
    backend: str

    def describe(self, candidate: Candidate) -> Described | NotBuilt: ...

    def build(
        self, task: Task, candidate: Candidate, params: dict[str, Param], shapes: Sequence[Dims]
    ) -> Built | NotBuilt: ...
