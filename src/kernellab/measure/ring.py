"""The buffers of timed calls: sets of slots, filled with wholly new contents before every sample.

A sample runs an arm once over one set. Just before, while both arms are stopped, the inputs of its set are written anew,
its outputs poisoned and the caches flushed; so nothing seen earlier, in any buffer, helps. Contents come from
 - the pool: inputs whose answers were computed once, each given to a process at most once; then
 - sums of two base draws, secretly chosen and rolled: standard normal, new in every element, made at memory speed; or
   fresh draws where the task's first distribution is not the standard normal.
Pool entries come at secret moments and their answers are all checked; of the others a secret subset is, by the oracle,
in full. Each arm writes into outputs of its own: neither can touch the other's answers.
"""

from __future__ import annotations

import math
import os
from itertools import pairwise

import numpy as np

from kernellab.measure.base import SETS, Filling, Slots
from kernellab.run.arena import Arena
from kernellab.run.base import Call
from kernellab.tasks.dtypes import is_float, widen
from kernellab.tasks.inputs import draw_inputs, draw_normal
from kernellab.tasks.oracle import Expected, expect
from kernellab.tasks.spec import Array, Buffer, Dims, Task
from kernellab.verify.judge import check_outputs, poison_outputs
from kernellab.verify.numeric import Mismatch

_MAX_SLOTS = 512
_MAX_BYTES = 1 << 30
_POOL_BYTES = 768 << 20
_POOL_MOST = 8
_SPOTS = 64
_BASES = 4
LEAST_MIXED = 64


class Ring(Slots):
    inputs: Arena
    sides: tuple[Arena, Arena]

    def __init__(self, task: Task, dims: Dims, slots: int, seed: bytes, flush_bytes: int, pool: bool = True) -> None:
        super().__init__(task, dims, slots, seed)
        self.inputs = Arena("timed-inputs", seed[:16])
        self.sides = (Arena("timed-outputs", seed[16:32]), Arena("timed-outputs-2", seed[16:32]))
        self._declare()
        for arena in (self.inputs, *self.sides):
            arena.open()
        self._junk = np.ones(max(flush_bytes, 1 << 20) // 4, np.float32)
        self._distribution = next(iter(task.distributions))
        self._mixes = task.distributions[self._distribution] is draw_normal
        drawn = draw_inputs(task, dims, self._distribution, self._rng)
        self._constant: list[Array | None] = [
            v if b.constant else None for b, v in zip(task.inputs, drawn, strict=True)
        ]
        self._bases = [self._base() for _ in range(_BASES)] if self._mixes else []
        self._pool = [self._pool_entry() for _ in range(self._pool_size() if pool else 0)]
        for call in self.calls:
            self._refresh(call)

    def fill(self, number: int, count: int, side: int, known: bool) -> Filling:
        filling = Filling(side)
        witness = int(self._secret.integers(count)) if self._pool and known else -1
        for slot in range(count):
            call = self.calls[number * self.slots + slot]
            if slot == witness:
                entry = filling.entries[slot] = int(self._secret.integers(len(self._pool)))
                values, filling.known[slot] = self._pool[entry]
                self._write(call, values)
            else:
                self._refresh(call)
            filling.patterns.append(poison_outputs(self.sides[side], call))
        return filling

    def flush(self) -> None:
        float(self._junk.max())

    def check(self, number: int, filling: Filling) -> tuple[Mismatch | None, int]:
        for slot, expected in filling.known.items():
            call = self.calls[number * self.slots + slot]
            fault = check_outputs(self.task, self.sides[filling.side], call, expected, filling.patterns[slot])
            if fault is not None:
                return fault, len(filling.known)
        return self._spots(number, filling), len(filling.known)

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
        one = sum(b.nbytes(self.dims) for b in self.task.inputs) + 8 * sum(
            b.nbytes(self.dims) for b in self.task.outputs
        )
        return max(2, min(_POOL_MOST, _POOL_BYTES // max(one, 1)))

    def _base(self) -> list[Array]:
        values = draw_inputs(self.task, self.dims, self._distribution, self._rng)
        return [(v.reshape(-1) * v.dtype.type(math.sqrt(0.5))).astype(v.dtype) for v in values]

    def _pool_entry(self) -> tuple[list[Array], list[Expected]]:
        """Made as the others are, a sum of two draws: a sum can be told from a draw by its last bits."""
        values = draw_inputs(self.task, self.dims, self._distribution, self._rng)
        if self._mixes:
            values = [mixed(v, w) for v, w in zip(values, self._base(), strict=True)]
        values = [v if c is None else c for v, c in zip(values, self._constant, strict=True)]
        return values, expect(self.task, self.dims, values)

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
    """So many calls a sample that a kernel at twice its floor still takes `least_s`."""
    one = 2 * floor_s + 0.5e-6
    each = sum(b.nbytes(dims) for b in (*task.inputs, *task.outputs))
    most = max(1, min(_MAX_SLOTS, _MAX_BYTES // (SETS * max(each, 1))))
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
