"""What the bench needs of the buffers of timed calls, whatever device they lie on; and the secret dice they share."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from kernellab.run.base import Call, Memory
from kernellab.tasks.oracle import Expected
from kernellab.tasks.spec import Dims, Task
from kernellab.verify.numeric import Mismatch

SETS = 2


@dataclass
class Filling:
    """What lies in the first slots of a set right now: known answers by slot, and the poison of every slot.

    `entries` names the pool entry behind each known slot; `known` holds its answers where they lie on the host.
    """

    side: int
    known: dict[int, list[Expected]] = field(default_factory=dict)
    patterns: list[list[int]] = field(default_factory=list)
    entries: dict[int, int] = field(default_factory=dict)


class Slots(ABC):
    """Sets of slots, each an input buffer and one output buffer for either side of a comparison."""

    inputs: Memory
    sides: tuple[Memory, Memory]
    trial_checks = 0
    """How many timed calls of a trial get a known answer on purpose, beside those that get one by chance."""

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

    def toss(self) -> bool:
        return bool(self._secret.random() < 0.5)

    def secret_moments(self, among: int, count: int) -> set[int]:
        """So many of the numbers 0..among-1, for checks that nobody can foresee."""
        return {int(v) for v in self._secret.choice(among, min(count, among), replace=False)}

    def _declare(self) -> None:
        """Lay out every slot; both sides are laid out alike."""
        for _ in range(SETS * self.slots):
            inputs = tuple(self.inputs.declare(b.shape(self.dims), b.dtype) for b in self.task.inputs)
            first, _ = (
                tuple(side.declare(b.shape(self.dims), b.dtype) for b in self.task.outputs) for side in self.sides
            )
            self.calls.append(Call(self.dims, inputs, first))

    @abstractmethod
    def fill(self, number: int, count: int, side: int, known: bool) -> Filling:
        """New inputs and poison for `count` slots of a set.

        `known` asks for known answers in as many slots as the device checks at once (a GPU: all that the pool has
        entries for; a CPU: a secret one); without it every slot gets contents that nobody has an answer to.
        """

    @abstractmethod
    def flush(self) -> None:
        """Push everything out of the caches that the bench itself can reach."""

    @abstractmethod
    def check(self, number: int, filling: Filling) -> tuple[Mismatch | None, int]:
        """Check the outputs of a set: known answers in full, every slot for writes outside and for elements never
        written. The fault, and how many slots were checked in full.
        """

    @abstractmethod
    def untouched(self, number: int, filling: Filling) -> bool:
        """Whether every slot of a filled set but the first still holds its poison, and nothing else."""

    @abstractmethod
    def close(self) -> None: ...
