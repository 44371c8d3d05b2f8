"""What a kernel reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernellab.lower.facts import StepFacts
from kernellab.lower.sizes import Size

Space = Mapping[str, Sequence[int | str]]
"""Choices by name, the most promising of each first."""
_BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}


def element_bytes(dtype: str) -> int:
    return _BYTES.get(dtype, 1)


@dataclass(frozen=True)
class Tensor:
    """A buffer: an input, an output, or scratch between kernels. `padded`: its last dim ends in zeros that fill a line."""

    name: str
    dtype: str
    shape: tuple[Size, ...]
    padded: bool = False


@dataclass(frozen=True)
class Written:
    """The text of a candidate, and a name for it; `form`: the plan that its steps follow, `steps`: what they are."""

    name: str
    text: str
    form: str = ""
    steps: tuple[StepFacts, ...] = ()


@dataclass(frozen=True)
class KernelText:
    """One function, and what to call it with."""

    name: str
    text: str
    tensors: tuple[str, ...]
    sizes: tuple[str, ...]


@dataclass(frozen=True)
class KernelStep:
    """A kernel, the lines of a launch that call it, and what they choose from."""

    text: KernelText
    call: tuple[str, ...]
    space: Space
    facts: StepFacts


def spaced(space: Space) -> str:
    """A SPACE as it stands in a file."""
    inner = ", ".join(f'"{name}": [{", ".join(quoted(c) for c in choices)}]' for name, choices in space.items())
    return "{" + inner + "}"


def quoted(choice: int | str) -> str:
    return f'"{choice}"' if isinstance(choice, str) else str(choice)
