"""What a trainer sends and gets: samples in, scored samples out. Plain data, as it travels in JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kernellab.core.errors import UsageError

MOST_SAMPLES = 256
_LONGEST_ID = 200
_FIELDS = ("id", "reply", "task", "shape")


@dataclass(frozen=True)
class Sample:
    """A policy's whole reply. `id`: its own, for ever: sent again, it gets the same reward and is not tried again.
    `task`, `shape`: may be left out where the service has one task, and for the task's quick shape."""

    id: str
    reply: str
    task: str = ""
    shape: str = ""


@dataclass(frozen=True)
class Scored:
    """A sample's reward and its factors. `reward` None: leave the sample out. `why`: one line; `feedback`: what a proposer
    may be told of it besides."""

    id: str
    task: str
    shape: str
    format: int
    accuracy: int | None
    speedup: float | None
    reward: float | None
    why: str
    feedback: str = ""

    def data(self) -> dict[str, Any]:
        return asdict(self)


def read_samples(given: object, most: int = MOST_SAMPLES) -> list[Sample]:
    """Samples from plain data; UsageError says what is wrong with which."""
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)):
        raise UsageError("samples are a list of objects", 'send {"samples": [{"id": "1", "reply": "..."}]}')
    if len(given) > most:
        raise UsageError(f"a batch of {len(given)} samples is too large: {most} are taken", "send several batches")
    return [_sample(number, one) for number, one in enumerate(given)]


def _sample(number: int, given: object) -> Sample:
    fix = f"a sample is an object with {', '.join(_FIELDS)}"
    if not isinstance(given, Mapping):
        raise UsageError(f"sample {number} is no object", fix)
    if unknown := [str(name) for name in given if name not in _FIELDS]:
        raise UsageError(f"sample {number} has a field '{unknown[0][:40]}' that is not known", fix)
    for name in _FIELDS:
        if not isinstance(given.get(name, ""), str):
            raise UsageError(f"sample {number}: its {name} is no text", fix)
    sample = Sample(**{name: given.get(name, "") for name in _FIELDS})
    if not sample.id or len(sample.id) > _LONGEST_ID or not sample.id.isprintable():
        raise UsageError(f"sample {number} has no usable id", f"give each an id of its own, 1 to {_LONGEST_ID} letters")
    return sample
