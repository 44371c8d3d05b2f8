"""The launch plan: which functions run, in which order, on which buffers, for one shape. Data only, checked on arrival.

A plan comes out of the sandbox in which the candidate's launch() ran, so nothing in it is believed: names must be ones,
buffer numbers must exist, sizes are bounded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from kernellab.core.ids import canonical_json

MAX_SCRATCH, MAX_GPU_SCRATCH = 2 << 30, 16 << 30
"""Bytes. On a GPU the device's own quota may be less (run/cuda.py)."""
MAX_STEPS = 256
MAX_THREADS = 1024
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
_KERNEL = re.compile(r"[A-Za-z_][A-Za-z0-9_:<>,()&* .+-]{0,255}\Z")  # C++ name expressions too: "softmax<bf16, 256>"


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class BufferArg(_Data):
    kind: Literal["buffer"] = "buffer"
    index: Annotated[int, Field(ge=0, lt=256)]


class ScratchArg(_Data):
    kind: Literal["scratch"] = "scratch"
    index: Annotated[int, Field(ge=0, lt=64)]


class IntArg(_Data):
    kind: Literal["int"] = "int"
    value: Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]


class FloatArg(_Data):
    kind: Literal["float"] = "float"
    value: Annotated[float, Field(allow_inf_nan=False)]


Arg = Annotated[BufferArg | ScratchArg | IntArg | FloatArg, Field(discriminator="kind")]


Extents = Annotated[list[Annotated[int, Field(ge=1, lt=1 << 31)]], Field(min_length=1, max_length=3)]


class Step(_Data):
    """One launch. `block`, `shared` (dynamic shared memory in bytes), `cluster` and `cooperative` are a GPU's."""

    kernel: str
    grid: Extents | None = None
    args: Annotated[list[Arg], Field(max_length=64)]
    block: Extents | None = None
    shared: Annotated[int, Field(ge=0, le=1 << 20)] = 0
    cluster: Extents | None = None
    cooperative: bool = False

    @field_validator("kernel")
    @classmethod
    def _name(cls, name: str) -> str:
        if not _KERNEL.match(name):
            raise ValueError(f"'{name[:40]}' does not name a kernel")
        return name

    @property
    def signature(self) -> tuple[str, bool, str]:
        """Decides the stub: function, whether it has a grid, the kinds of its arguments (p, i or f each)."""
        kinds = "".join({"buffer": "p", "scratch": "p", "int": "i", "float": "f"}[a.kind] for a in self.args)
        return self.kernel, self.grid is not None, kinds


class Plan(_Data):
    """`scratch` holds the sizes of the work buffers in bytes; `zeroed` says which are zeroed at every call."""

    scratch: Annotated[list[Annotated[int, Field(ge=1)]], Field(max_length=64)] = []
    zeroed: Annotated[list[Annotated[int, Field(ge=0, lt=64)]], Field(max_length=64)] = []
    steps: Annotated[list[Step], Field(max_length=MAX_STEPS)]

    def faults(self, buffers: int) -> str:
        """Why this plan cannot be run on a task with so many buffers, or ''."""
        if not self.steps:
            return "launch() launched nothing"
        most = MAX_SCRATCH if self.steps[0].block is None else MAX_GPU_SCRATCH
        if sum(self.scratch) > most:
            return f"asks for {sum(self.scratch):.3g} bytes of scratch; {most:.3g} is the most"
        if any(index >= len(self.scratch) for index in self.zeroed):
            return "zeroes a scratch buffer that was never asked for"
        for step in self.steps:
            if step.block is not None and math.prod(step.block) > MAX_THREADS:
                return f"{step.kernel} has blocks of {math.prod(step.block)} threads; {MAX_THREADS} is the most"
            for arg in step.args:
                if isinstance(arg, BufferArg) and arg.index >= buffers:
                    return f"{step.kernel} is given buffer {arg.index}, the task has {buffers}"
                if isinstance(arg, ScratchArg) and arg.index >= len(self.scratch):
                    return f"{step.kernel} is given scratch {arg.index} that was never asked for"
        return ""


def plan_bytes(shapes: Sequence[Mapping[str, int]], plans: Sequence[Plan]) -> bytes:
    """The plans of an artifact as they are stored and hashed: each with its shape."""
    return canonical_json([[dict(d), p.model_dump(mode="json")] for d, p in zip(shapes, plans, strict=True)])
