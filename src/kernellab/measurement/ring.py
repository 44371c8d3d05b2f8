"""The buffers of timed calls: sets of slots, filled with wholly new contents before every sample.

A sample runs an arm once over one set. Just before, while both arms are stopped, the inputs of its set are written anew,
its outputs poisoned and the caches flushed; so nothing seen earlier, in any buffer, helps. Contents come from a pool of
inputs whose answers were computed once. Every slot of a sample holds another entry, in secret order, and is judged in full:
there is no call among them that need not be right, and no two of them have anything in common.
Entries come again in later samples, but none that lies in a slot of the same set already: what is loaded for a sample may
have seen what its set held before, and nothing else. Each arm writes into outputs of its own.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from kernellab.measurement.base import SETS, Filling, Slots, poisoned
from kernellab.measurement.hands import each
from kernellab.run.arena import Arena
from kernellab.run.base import Call
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.oracle import expect
from kernellab.tasks.spec import Array, Dims, Task
from kernellab.verdict.judge import check_outputs, guard_fault, poison_outputs
from kernellab.verdict.numeric import Mismatch
from kernellab.verdict.spot_check import Closeness

T = TypeVar("T")
R = TypeVar("R")
_MAX_SLOTS = 512
_MAX_BYTES = 1 << 30
_POOL_BYTES = 768 << 20
_LINE = 16  # floats in a cache line of 64 bytes: one read brings all of it in
_PART = 4 << 20
_SMALL = 128 << 10
"""Bytes of a call: to share out fewer takes longer than to do it."""
_LOOKED_AT = 1
"""Calls of a sample whose neighbours are looked at together, drawn in secret."""
_SAMPLES = 2
"""For how many samples there are known answers: one lies in a set while the next is chosen from the others."""


@dataclass(frozen=True)
class Answer:
    """A pool entry: inputs, for each output the ends of the interval that every element must lie in, and what neighbours
    are held to together."""

    inputs: list[Array]
    bounds: list[tuple[Array, Array]]
    exact: bool
    closeness: list[Closeness]

    def fits(self, outputs: list[Array]) -> bool:
        """Whether every element lies in its interval. (An expected NaN is in none: the oracle then decides.)"""
        pairs = zip(outputs, self.bounds, strict=True)
        if self.exact:
            return all(got.tobytes() == wanted.tobytes() for got, (wanted, _) in pairs)
        with np.errstate(invalid="ignore"):  # bfloat16 warns of every NaN it compares
            return all((got >= low).all() and (got <= high).all() for got, (low, high) in pairs)

    def in_doubt(self, outputs: list[Array], dice: np.random.Generator) -> bool:
        """Whether neighbours at some places are further off than they may be together: then too the oracle decides."""
        triples = zip(outputs, self.bounds, self.closeness, strict=True)
        return not self.exact and any(held.doubts(got, *ends, dice) for got, ends, held in triples)


class Ring(Slots):
    inputs: Arena
    sides: tuple[Arena, Arena]

    def __init__(self, task: Task, dims: Dims, slots: int, seed: bytes, flush_bytes: int, pool: bool = True) -> None:
        """Without a `pool` nothing can be filled or checked: for kernels of the laboratory's own."""
        super().__init__(task, dims, slots, seed)
        junk = np.ones(max(flush_bytes, 1 << 20) // 4, np.float32)
        self._junk = np.array_split(junk, max(1, junk.nbytes // _PART))
        moved = sum(b.nbytes(dims) for b in (*task.inputs, *task.outputs))
        self._shared = moved > _SMALL
        self._distribution = next(iter(task.distributions))
        drawn = draw_inputs(task, dims, self._distribution, self._rng, plain=True)
        self._constant: list[Array | None] = [
            v if b.constant else None for b, v in zip(task.inputs, drawn, strict=True)
        ]
        self._pool = [self._known(self._distribution) for _ in range(_SAMPLES * slots if pool else 0)]
        self._others: list[Answer] = []
        self._open(drawn)

    def _open(self, first: list[Array]) -> None:
        self.inputs = Arena("timed-inputs", self.seed[:16])
        self.sides = (Arena("timed-outputs", self.seed[16:32]), Arena("timed-outputs-2", self.seed[16:32]))
        self._declare()
        for arena in (self.inputs, *self.sides):
            arena.open()
        self._held = dict.fromkeys(range(len(self.calls)), -1)
        for number in range(SETS if self._pool else 0):
            self._put(number, self._choose(number, self.slots))
        for call in [] if self._pool else self.calls:
            self._write(call, first)

    def renew(self) -> None:
        self.close()
        self.calls = []
        self._open([])

    def others(self) -> int:
        """One for each distribution but the first, made when they are first wanted: by a confirmation."""
        if not self._others:
            names = [name for name in self.task.distributions if name != self._distribution]
            self._others = [self._known(name) for name in names]
        return len(self._others)

    def fill(self, number: int, count: int, side: int, other: int = -1) -> Filling:
        entries = self._choose(number, count)
        if other >= 0:
            entries[int(self._secret.integers(count))] = len(self._pool) + other
        self._put(number, entries)
        calls = [self.calls[n] for n in self.set_calls(number, count)]
        patterns = self._each(lambda call: poison_outputs(self.sides[side], call), calls)
        return Filling(side, patterns, dict(enumerate(entries)))

    def _choose(self, number: int, count: int) -> list[int]:
        """So many entries, in secret: none of those that lie anywhere in the set."""
        seen = {self._held[n] for n in self.set_calls(number, self.slots)}
        left = [entry for entry in range(len(self._pool)) if entry not in seen]
        self._secret.shuffle(left)
        return left[:count]

    def _put(self, number: int, entries: list[int]) -> None:
        places = list(zip(self.set_calls(number, len(entries)), entries, strict=True))
        self._each(lambda place: self._write(self.calls[place[0]], self._answer(place[1]).inputs), places)
        self._held.update(places)

    def flush(self) -> None:
        each(lambda junk: float(junk[::_LINE].max()), self._junk)

    def _each(self, work: Callable[[T], R], pieces: Sequence[T]) -> list[R]:
        return each(work, pieces) if self._shared else [work(piece) for piece in pieces]

    def check(self, number: int, filling: Filling) -> tuple[Mismatch | None, int]:
        slots = list(filling.entries)
        looked_at = {int(slot) for slot in self._secret.choice(slots, min(_LOOKED_AT, len(slots)), replace=False)}
        for slot in slots:
            fault = self._fault(self.calls[number * self.slots + slot], filling, slot, slot in looked_at)
            if fault is not None:
                return fault, len(filling.entries)
        return None, len(filling.entries)

    def _fault(self, call: Call, filling: Filling, slot: int, closely: bool) -> Mismatch | None:
        outputs, answer = self.sides[filling.side], self._answer(filling.entries[slot])
        fault = guard_fault(self.task, outputs, call)
        got = [outputs.array(region) for region in call.outputs]
        if fault is not None or (answer.fits(got) and not (closely and answer.in_doubt(got, self._secret))):
            return fault
        expected = expect(self.task, self.dims, answer.inputs)  # in full only now: it is eight times as large
        return check_outputs(self.task, outputs, call, expected, filling.patterns[slot])

    def untouched(self, number: int, filling: Filling) -> bool:
        outputs = self.sides[filling.side]
        for slot, patterns in list(enumerate(filling.patterns))[1:]:
            for region, pattern in zip(self.calls[number * self.slots + slot].outputs, patterns, strict=True):
                if poisoned(outputs, region, pattern) != region.count:
                    return False
        return True

    def close(self) -> None:
        for arena in (self.inputs, *self.sides):
            arena.close()

    def _answer(self, entry: int) -> Answer:
        return self._pool[entry] if entry < len(self._pool) else self._others[entry - len(self._pool)]

    def _known(self, distribution: str) -> Answer:
        plain = distribution == self._distribution
        drawn = draw_inputs(self.task, self.dims, distribution, self._rng, plain)
        values = [v if c is None else c for v, c in zip(drawn, self._constant, strict=True)]
        expected = expect(self.task, self.dims, values)
        ends, closeness = [(e.low, e.high) for e in expected], [Closeness.of(e) for e in expected]
        return Answer(values, ends, self.task.exact, closeness)

    def _write(self, call: Call, values: list[Array]) -> None:
        for region, value in zip(call.inputs, values, strict=True):
            np.copyto(self.inputs.array(region), value)


def slots_for(task: Task, dims: Dims, least_s: float, floor_s: float) -> int:
    """So many calls a sample that a kernel at twice its floor still takes `least_s`; but no more than known answers for
    two samples fit into memory."""
    one = 2 * floor_s + 0.5e-6
    read, written = (sum(b.nbytes(dims) for b in buffers) for buffers in (task.inputs, task.outputs))
    known = _POOL_BYTES // (_SAMPLES * max(read + 2 * written, 1))
    most = max(1, min(_MAX_SLOTS, known, _MAX_BYTES // (SETS * max(read + written, 1))))
    return max(1, min(most, math.ceil(least_s / one)))


def last_level_cache() -> int:
    """Bytes of the largest cache of the first processor, 32 MiB where the system does not say."""
    sizes = [32 << 20]
    base = "/sys/devices/system/cpu/cpu0/cache"
    try:
        found = []
        for entry in os.listdir(base):
            if entry.startswith("index"):
                with open(f"{base}/{entry}/size") as file:
                    text = file.read().strip()
                found.append(int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[text[-1]])
        sizes = found or sizes
    except (OSError, ValueError, KeyError):
        pass
    return max(sizes)


def flush_size() -> int:
    """Bytes to read through before a pair: the last-level cache, at most 64 MiB.

    Where the cache is larger (a share of a big server's), inputs may stay in it, for both arms and the ceilings alike.
    """
    return min(last_level_cache(), 64 << 20)
