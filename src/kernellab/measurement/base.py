"""What the bench needs of the buffers of timed calls, whatever device they lie on; and the secret dice they share."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from kernellab.run.base import Call, Memory, Region
from kernellab.tasks.dtypes import is_float
from kernellab.tasks.spec import Dims, Task
from kernellab.verdict.numeric import Mismatch

SETS = 2


@dataclass
class Filling:
    """What lies in the first slots of a set right now: the poison of every slot, and the pool entry in each."""

    side: int
    patterns: list[list[int]] = field(default_factory=list)
    entries: dict[int, int] = field(default_factory=dict)


def poisoned(memory: Memory, region: Region, pattern: int) -> int:
    """How many elements of an output still hold its poison."""
    bits = memory.read(region).view(f"u{np.dtype(region.dtype).itemsize}")
    return int(np.count_nonzero(bits == pattern))


class Slots(ABC):
    """Sets of slots, each an input buffer and one output buffer for either side of a comparison."""

    inputs: Memory
    sides: tuple[Memory, Memory]

    def __init__(self, task: Task, dims: Dims, slots: int, seed: bytes) -> None:
        self.task = task
        self.dims = dims
        self.seed = seed
        self.slots = slots
        self.calls: list[Call] = []
        self._rng = np.random.default_rng(np.frombuffer(seed, np.uint32))
        self._secret = np.random.default_rng(np.frombuffer(os.urandom(32), np.uint32))

    def set_calls(self, number: int, count: int) -> list[int]:
        """The numbers of the first `count` calls of one set."""
        return list(range(number * self.slots, number * self.slots + count))

    def pick_sets(self) -> tuple[int, int]:
        """Two different sets, in secret."""
        first, second = self._secret.choice(SETS, 2, replace=False)
        return int(first), int(second)

    def toss(self, chance: float = 0.5) -> bool:
        """Whether something that nobody can foresee happens now."""
        return bool(self._secret.random() < chance)

    def moment(self, most: float) -> float:
        """Some time before `most`, in secret."""
        return float(self._secret.random()) * most

    @property
    def tells_order(self) -> bool:
        """Whether poison can be told from every answer: in numbers of floating point it is none."""
        return all(is_float(b.dtype) for b in self.task.outputs)

    def in_order(self, number: int, filling: Filling) -> bool:
        """Of a sample that was stopped in the middle: whether the outputs of its first calls are written, of one more
        perhaps a part, and of those behind it nothing."""
        outputs, ended = self.sides[filling.side], False
        calls = (self.calls[n] for n in self.set_calls(number, len(filling.patterns)))
        for call, patterns in zip(calls, filling.patterns, strict=True):
            held = [poisoned(outputs, *pair) for pair in zip(call.outputs, patterns, strict=True)]
            if ended and held != [region.count for region in call.outputs]:
                return False
            ended = ended or any(held)
        return True

    def _declare(self) -> None:
        """Lay out every slot; both sides are laid out alike."""
        for _ in range(SETS * self.slots):
            inputs = tuple(self.inputs.declare(b.shape(self.dims), b.dtype) for b in self.task.inputs)
            first, _ = (
                tuple(side.declare(b.shape(self.dims), b.dtype) for b in self.task.outputs) for side in self.sides
            )
            self.calls.append(Call(self.dims, inputs, first))

    @abstractmethod
    def fill(self, number: int, count: int, side: int, other: int = -1) -> Filling:
        """New inputs with known answers, and poison, for `count` slots of a set.

        Inputs come again in later samples: nothing of a candidate survives from one sample to the next. `other`: one slot
        gets this one of the `others`.
        """

    def others(self) -> int:
        """How many known answers there are to inputs of other distributions than the timed one, for samples that are like
        timed ones and are not counted."""
        return 0

    @abstractmethod
    def renew(self) -> None:
        """Other memory for the same buffers, where that is cheap: its place is part of a process's luck."""

    @abstractmethod
    def flush(self) -> None:
        """Push everything out of the caches that the bench itself can reach."""

    @abstractmethod
    def check(self, number: int, filling: Filling) -> tuple[Mismatch | None, int]:
        """Check the outputs of a set: known answers in full, every slot for writes outside and for elements never
        written. The fault, and how many slots were checked in full."""

    @abstractmethod
    def untouched(self, number: int, filling: Filling) -> bool:
        """Whether every slot of a filled set but the first still holds its poison, and nothing else."""

    @abstractmethod
    def close(self) -> None: ...
