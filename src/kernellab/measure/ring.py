"""The buffers of timed calls: sets of slots, filled with wholly new contents before every sample.

A sample runs an arm once over one set. Just before, while both arms are stopped, the inputs of its set are written anew,
its outputs poisoned and the caches flushed; so nothing seen earlier, in any buffer, helps. Contents come from
 - the pool: inputs whose answers were computed once. Every slot of a timed sample holds another entry, in secret order, and
   is judged in full: there is no call among them that need not be right, and no two of them have anything in common;
 - for calls that are not timed: sums of two base draws, secretly chosen and rolled, standard normal again; or fresh draws,
   where the task's first distribution is another.
Entries come again in later samples, but never in the one after they lay in the same set: what is loaded for a sample has
seen what the set held before, and nothing else. Each arm writes into outputs of its own.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kernellab.measure.base import SETS, Filling, Slots
from kernellab.run.arena import Arena
from kernellab.run.base import Call
from kernellab.tasks.dtypes import is_float, widen
from kernellab.tasks.inputs import draw_inputs, draw_normal
from kernellab.tasks.oracle import expect
from kernellab.tasks.spec import Array, Buffer, Dims, Task
from kernellab.verify.judge import check_outputs, guard_fault, poison_outputs
from kernellab.verify.numeric import Mismatch

_MAX_SLOTS = 512
_MAX_BYTES = 1 << 30
_POOL_BYTES = 768 << 20
_SPOTS = 64
_BASES = 4
LEAST_MIXED = 64


@dataclass(frozen=True)
class Answer:
    """A pool entry: inputs, and for each output the ends of the interval that every element must lie in."""

    inputs: list[Array]
    bounds: list[tuple[Array, Array]]
    exact: bool

    def fits(self, outputs: list[Array]) -> bool:
        """Whether every element lies in its interval. (An expected NaN is in none: the oracle then decides.)"""
        pairs = zip(outputs, self.bounds, strict=True)
        if self.exact:
            return all(got.tobytes() == wanted.tobytes() for got, (wanted, _) in pairs)
        with np.errstate(invalid="ignore"):  # bfloat16 warns of every NaN it compares
            return all(bool(np.all((got >= low) & (got <= high))) for got, (low, high) in pairs)


class Ring(Slots):
    inputs: Arena
    sides: tuple[Arena, Arena]

    def __init__(self, task: Task, dims: Dims, slots: int, seed: bytes, flush_bytes: int, pool: bool = True) -> None:
        super().__init__(task, dims, slots, seed)
        self._junk = np.ones(max(flush_bytes, 1 << 20) // 4, np.float32)
        self._distribution = next(iter(task.distributions))
        self._mixes = task.distributions[self._distribution] is draw_normal
        drawn = draw_inputs(task, dims, self._distribution, self._rng)
        self._constant: list[Array | None] = [
            v if b.constant else None for b, v in zip(task.inputs, drawn, strict=True)
        ]
        self._bases = [self._base() for _ in range(_BASES)] if self._mixes else []
        self._pool = [self._pool_entry() for _ in range(self._pool_size() if pool else 0)]
        self._others: list[Answer] = []
        self._open()

    def _open(self) -> None:
        self.inputs = Arena("timed-inputs", self.seed[:16])
        self.sides = (Arena("timed-outputs", self.seed[16:32]), Arena("timed-outputs-2", self.seed[16:32]))
        self._declare()
        for arena in (self.inputs, *self.sides):
            arena.open()
        self._present: dict[int, frozenset[int]] = {}
        for call in self.calls:
            self._refresh(call)

    def renew(self) -> None:
        self.close()
        self.calls = []
        self._open()

    def others(self) -> int:
        """One for each distribution but the first, made when they are first wanted: by a confirmation."""
        if not self._others:
            names = [name for name in self.task.distributions if name != self._distribution]
            self._others = [self._pool_entry(name) for name in names]
        return len(self._others)

    def fill(self, number: int, count: int, side: int, known: bool, other: int = -1) -> Filling:
        filling = Filling(side)
        seen = self._present.pop(number, frozenset())
        left = [e for e in range(len(self._pool)) if e not in seen] if known else []
        self._secret.shuffle(left)
        filling.entries = dict(zip(range(count), left, strict=False))
        self._present[number] = frozenset(filling.entries.values())
        if other >= 0:
            filling.entries[int(self._secret.integers(count))] = len(self._pool) + other
        for slot in range(count):
            call = self.calls[number * self.slots + slot]
            if slot in filling.entries:
                self._write(call, self._answer(filling.entries[slot]).inputs)
            else:
                self._refresh(call)
            filling.patterns.append(poison_outputs(self.sides[side], call))
        return filling

    def flush(self) -> None:
        float(self._junk.max())

    def check(self, number: int, filling: Filling) -> tuple[Mismatch | None, int]:
        outputs = self.sides[filling.side]
        for slot, entry in filling.entries.items():
            call, answer = self.calls[number * self.slots + slot], self._answer(entry)
            fault = guard_fault(self.task, outputs, call)
            if fault is None and not answer.fits([outputs.read(region) for region in call.outputs]):
                expected = expect(self.task, self.dims, answer.inputs)  # in full only now: it is eight times as large
                fault = check_outputs(self.task, outputs, call, expected, filling.patterns[slot])
            if fault is not None:
                return fault, len(filling.entries)
        return self._spots(number, filling), len(filling.entries)

    def untouched(self, number: int, filling: Filling) -> bool:
        outputs = self.sides[filling.side]
        for slot, patterns in list(enumerate(filling.patterns))[1:]:
            for region, pattern in zip(self.calls[number * self.slots + slot].outputs, patterns, strict=True):
                if not np.all(outputs.array(region).view(f"u{np.dtype(region.dtype).itemsize}") == pattern):
                    return False
        return True

    def close(self) -> None:
        for arena in (self.inputs, *self.sides):
            arena.close()

    def _spots(self, number: int, filling: Filling) -> Mismatch | None:
        """Random elements and the last one of every output must have been written."""
        outputs = self.sides[filling.side]
        for slot, patterns in enumerate(filling.patterns):
            call = self.calls[number * self.slots + slot]
            for buffer, region, pattern in zip(self.task.outputs, call.outputs, patterns, strict=True):
                broken = outputs.intact(region)
                if broken:
                    return Mismatch("out-of-bounds", f"wrote {broken} the buffer of '{buffer.name}'", None, None)
                if not is_float(buffer.dtype):
                    continue  # any integer may be an answer; the checked slots speak for these
                bits = outputs.array(region).reshape(-1).view(f"u{np.dtype(buffer.dtype).itemsize}")
                spots = self._secret.integers(bits.size, size=min(_SPOTS, bits.size))
                if bits[-1] == pattern or bool((bits[spots] == pattern).any()):
                    return Mismatch("unwritten", f"'{buffer.name}' was not finished when the reply came", None, None)
        return None

    def _pool_size(self) -> int:
        """Two samples' worth: one lies there while the next is chosen from the others."""
        return 2 * self.slots

    def _base(self) -> list[Array]:
        values = draw_inputs(self.task, self.dims, self._distribution, self._rng)
        return [(v.reshape(-1) * v.dtype.type(math.sqrt(0.5))).astype(v.dtype) for v in values]

    def _answer(self, entry: int) -> Answer:
        return self._pool[entry] if entry < len(self._pool) else self._others[entry - len(self._pool)]

    def _pool_entry(self, distribution: str = "") -> Answer:
        """Made as the others are, a sum of two draws: a sum can be told from a draw by its last bits."""
        values = draw_inputs(self.task, self.dims, distribution or self._distribution, self._rng)
        if self._mixes and not distribution:
            values = [mixed(v, w) for v, w in zip(values, self._base(), strict=True)]
        values = [v if c is None else c for v, c in zip(values, self._constant, strict=True)]
        return Answer(values, [(e.low, e.high) for e in expect(self.task, self.dims, values)], self.task.exact)

    def _write(self, call: Call, values: list[Array]) -> None:
        for region, value in zip(call.inputs, values, strict=True):
            np.copyto(self.inputs.array(region), value)

    def _refresh(self, call: Call) -> None:
        if not self._mixes:
            drawn = draw_inputs(self.task, self.dims, self._distribution, self._secret)
            self._write(call, [v if c is None else c for v, c in zip(drawn, self._constant, strict=True)])
            return
        for index, (buffer, region) in enumerate(zip(self.task.inputs, call.inputs, strict=True)):
            target = self.inputs.array(region)
            constant = self._constant[index]
            if constant is not None:
                np.copyto(target, constant)
            else:
                self._mix(buffer, target.reshape(-1), index)

    def _mix(self, buffer: Buffer, target: Array, index: int) -> None:
        """roll(A, a) + roll(B, b): the bases are scaled so that the sum is standard normal again."""
        if not is_float(target.dtype) or target.size < LEAST_MIXED:
            target[...] = draw_normal(self._secret, buffer, self.dims).reshape(-1)
            return
        first, second = (self._bases[int(k)][index] for k in self._secret.choice(_BASES, 2, replace=False))
        a, b = (int(v) for v in self._secret.integers(target.size, size=2))
        cuts = sorted({0, target.size - a, target.size - b, target.size})
        for start, end in pairwise(cuts):
            left, right = (start + a) % target.size, (start + b) % target.size
            np.add(first[left : left + end - start], second[right : right + end - start], out=target[start:end])


def mixed(draw: Array, base: Array) -> Array:
    """A draw as the sum of two, standard normal again; what is no float, or too small to be mixed, stays as it is."""
    if not is_float(draw.dtype) or draw.size < LEAST_MIXED:
        return draw
    halved = draw * draw.dtype.type(math.sqrt(0.5))
    return np.asarray((widen(halved) + widen(base.reshape(draw.shape))).astype(draw.dtype))


def slots_for(task: Task, dims: Dims, least_s: float, floor_s: float) -> int:
    """So many calls a sample that a kernel at twice its floor still takes `least_s`; but no more than known answers for
    two samples fit into memory."""
    one = 2 * floor_s + 0.5e-6
    read, written = (sum(b.nbytes(dims) for b in buffers) for buffers in (task.inputs, task.outputs))
    known = _POOL_BYTES // (2 * max(read + 2 * written, 1))
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
