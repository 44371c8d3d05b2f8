"""The buffers of timed calls on a GPU: filled, poisoned and judged there, by the laboratory's own process.

Nothing that a kernel can read survives from one sample to the next: the runner clears its own memory (cuda_serve.py), and
here all outputs of the arm are overwritten before each, those of other slots and sets included. So inputs with known
answers may come again, and every call of a checked sample gets one, all different, in secret order. The answers lie in
memory that no runner ever maps, as the interval that each output element must fall into; calls are compared with them
element by element, and checked for writes outside their buffers and elements never written, all at memory speed.
Inputs are mapped read-only in the runner. Cold caches are the runner's own business (run/cuda_clock.py).
A captured module's oracle draws and answers on the device; other tasks are answered on the host and sent there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernellab.measurement.base import Filling, Slots
from kernellab.run.base import Call, Region
from kernellab.run.cuda import CudaDevice
from kernellab.run.device_arena import DeviceArena
from kernellab.tasks.crew import Crew
from kernellab.tasks.dtypes import is_float, widen
from kernellab.tasks.expected import Expected, Known, Oracle
from kernellab.tasks.inputs import draw_inputs, draw_normal, numbers
from kernellab.tasks.oracle import expect
from kernellab.tasks.spec import Array, Dims, Task
from kernellab.verdict.judge import check_outputs, poison_outputs
from kernellab.verdict.numeric import Mismatch

_BASES = 3
LEAST_MIXED = 64
_BLOCK = 1 << 22
Answer = Known | tuple[list[Array], list[Expected]]
"""Inputs and what they must give, on the device or on the host."""


@dataclass(frozen=True)
class Entry:
    """A pool entry on the device: where its inputs lie, and for each output the interval's ends (exact: the value)."""

    inputs: list[int]
    low: list[int]
    high: list[int]


class DeviceRing(Slots):
    inputs: DeviceArena
    sides: tuple[DeviceArena, DeviceArena]

    def __init__(
        self, device: CudaDevice, task: Task, dims: Dims, slots: int, seed: bytes, pool: int, crew: Crew
    ) -> None:
        super().__init__(task, dims, slots, seed)
        self._device = device
        self._keeper = device.keeper
        self.inputs = device.memory("timed-inputs", seed[:16])
        self.sides = (device.memory("timed-outputs", seed[16:32]), device.memory("timed-outputs-2", seed[16:32]))
        self._declare()
        for arena in (self.inputs, *self.sides):
            arena.open()
        self._owned: list[int] = []
        self._distribution = next(iter(task.distributions))
        self._mixes = task.distributions[self._distribution] is draw_normal
        self._crew = crew
        self._answers: list[Future[Answer]]
        self._budgets: list[float] = []
        self._pool: dict[int, Entry] = {}
        self._tensors: list[Any] = []
        self._constant = [0] * len(task.inputs)
        self._bases: list[list[int]] = []
        seeds = [int(s) for s in self._rng.integers(1 << 62, size=1 + _BASES + pool)]
        own, known = seeds[: 1 + _BASES], seeds[1 + _BASES :]
        self._answers = [] if task.oracle is not None else self._on_the_host(own, known)
        for call in self.calls:
            self._refresh(call)
        self._keeper.context.synchronize()
        if task.oracle is not None:  # behind what baselines need to start, then beside them: torch does one at a time
            self._answers = [crew.leads.submit(self._captured, task.oracle, s) for s in known]

    def _on_the_host(self, own: list[int], known: list[int]) -> list[Future[Answer]]:
        """Constants and bases at once, answers on their way."""
        hands = self._crew.hands
        made = self._draw if known else self._draw_repeated
        drawn = [hands.submit(made, s) for s in own]
        answers = [self._crew.leads.submit(self._answer, s, drawn[0]) for s in known]
        pairs = zip(self.task.inputs, drawn[0].result(), strict=True)
        self._constant = [self._keep(v, b.nbytes(self.dims)) if b.constant else 0 for b, v in pairs]
        self._bases = [self._base(f.result()) for f in drawn[1:]] if self._mixes else []
        return answers

    def fill(self, number: int, count: int, side: int, other: int = -1) -> Filling:
        if self.task.oracle is not None and not self._pool:
            wait(self._answers)  # they are made on this device: not while something is timed
        filling = Filling(side)
        calls = self.calls[number * self.slots : number * self.slots + count]
        asked = min(count, len(self._answers))
        slots = self._secret.choice(count, asked, replace=False)
        entries = self._secret.choice(len(self._answers), asked, replace=False)
        filling.entries = {int(s): int(e) for s, e in zip(slots, entries, strict=True)}
        self.sides[side].wipe_around(calls[0].outputs[0], calls[-1].outputs[-1])
        for slot, call in enumerate(calls):
            if slot in filling.entries:
                sources = self._entry(filling.entries[slot]).inputs
                for region, source in zip(call.inputs, sources, strict=True):
                    self._keeper.context.copy(self.inputs.at(region), source, region.nbytes)
            else:
                self._refresh(call)
            filling.patterns.append(poison_outputs(self.sides[side], call))
        self._keeper.context.synchronize()
        return filling

    def renew(self) -> None:
        """The same memory serves: on a GPU its place matters little, and filling other memory would take seconds."""

    def flush(self) -> None:
        """The runner cools the cache itself, right before the timed launches."""

    def check(self, number: int, filling: Filling) -> tuple[Mismatch | None, int]:
        outputs = self.sides[filling.side]
        judged: list[Callable[[list[int]], Mismatch | None]] = []
        for slot, patterns in enumerate(filling.patterns):
            call = self.calls[number * self.slots + slot]
            for buffer, region, pattern in zip(self.task.outputs, call.outputs, patterns, strict=True):
                judged.append(self._count_strays(outputs, region, buffer.name, pattern))
        compared = {slot: self._count_wrong(number, slot, entry, outputs) for slot, entry in filling.entries.items()}
        counts = self._keeper.tallies()
        checked = len(compared)
        for verdict in judged:
            fault = verdict(counts)
            if fault is not None:
                return fault, checked
        wrong = [slot for slot, tallies in compared.items() if any(counts[n] for n in tallies)]
        return self._explain(number, filling, wrong), checked

    def untouched(self, number: int, filling: Filling) -> bool:
        outputs, wanted = self.sides[filling.side], []
        for slot, patterns in list(enumerate(filling.patterns))[1:]:
            for region, pattern in zip(self.calls[number * self.slots + slot].outputs, patterns, strict=True):
                name = f"equals_u{8 * np.dtype(region.dtype).itemsize}"
                self._keeper.tally(name, region.count, outputs.at(region), pattern, region.count)
                wanted.append(region.count)
        return self._keeper.tallies() == wanted

    def close(self) -> None:
        for future in self._answers:
            future.cancel()
        self._keeper.context.synchronize()
        for arena in (self.inputs, *self.sides):
            arena.close()
        for address in self._owned:
            self._keeper.context.free(address)
        self._owned, self._tensors = [], []

    def _count_strays(
        self, outputs: DeviceArena, region: Region, name: str, pattern: int
    ) -> Callable[[list[int]], Mismatch | None]:
        """Queue the counts for one output of one call; the result turns them into a fault."""
        before, behind = outputs.tally_bands(region)
        width = np.dtype(region.dtype).itemsize
        floats = is_float(region.dtype)  # any integer may be an answer; the checked slots speak for these
        address = outputs.at(region)
        left = self._keeper.tally(f"equals_u{8 * width}", region.count, address, pattern, region.count) if floats else 0

        def verdict(counts: list[int]) -> Mismatch | None:
            if counts[before] or counts[behind]:
                side = "before" if counts[before] else "behind"
                return Mismatch("out-of-bounds", f"wrote {side} the buffer of '{name}'", None, None)
            if floats and counts[left]:
                reason = f"'{name}': {counts[left]} of {region.count} elements were never written"
                return Mismatch("unwritten", reason, None, None)
            return None

        return verdict

    def _count_wrong(self, number: int, slot: int, entry: int, outputs: DeviceArena) -> list[int]:
        """Queue the comparison of a known slot: one tally for each output."""
        tallies = []
        known = self._entry(entry)
        call = self.calls[number * self.slots + slot]
        for region, low, high in zip(call.outputs, known.low, known.high, strict=True):
            address = outputs.at(region)
            if is_float(region.dtype) and not self.task.exact:
                name = f"outside_{region.dtype}"
                tallies.append(self._keeper.tally(name, region.count, address, low, high, region.count))
            else:
                tallies.append(self._keeper.tally("differs", region.nbytes, address, low, region.nbytes))
        return tallies

    def _explain(self, number: int, filling: Filling, slots: list[int]) -> Mismatch | None:
        """The whole story of these slots, by the oracle on the host; None where it finds nothing wrong after all."""
        for slot in slots:
            call = self.calls[number * self.slots + slot]
            values = [self.inputs.read(region) for region in call.inputs]
            expected = expect(self.task, self.dims, values, self._budgets, workers=self._crew.hands)
            fault = check_outputs(self.task, self.sides[filling.side], call, expected, filling.patterns[slot])
            if fault is not None:
                return fault
        return None

    def _entry(self, number: int) -> Entry:
        """A pool entry, put on the device when it is first used."""
        if number not in self._pool:
            found = self._answers[number].result()
            self._pool[number] = self._adopted(found) if isinstance(found, Known) else self._sent(*found)
            expected = found.outputs if isinstance(found, Known) else found[1]
            budgets = [e.budget_ulp for e in expected]
            self._budgets = [max(pair) for pair in zip(budgets, self._budgets or budgets, strict=True)]
            self._answers[number] = Future()  # the host's copy is gigabytes: not kept
        return self._pool[number]

    def _sent(self, inputs: list[Array], expected: list[Expected]) -> Entry:
        return Entry(
            [self._keep(v) for v in inputs],
            [self._keep(e.low) for e in expected],
            [0 if self.task.exact else self._keep(e.high) for e in expected],
        )

    def _adopted(self, known: Known) -> Entry:
        """The tensors live as long as the ring."""
        low, high = ([getattr(o, end) for o in known.outputs] for end in ("low", "high"))
        self._tensors += [*known.inputs, *low, *high]
        return Entry(*([int(t.data_ptr()) for t in tensors] for tensors in (known.inputs, low, high)))

    def _captured(self, oracle: Oracle, seed: int) -> Answer:
        """On the device, or on the host where that has no room."""
        known = oracle.known(self.dims, seed)
        if known is not None:
            return known
        drawn = self._draw(seed)
        return drawn, [_bounds(e) for e in expect(self.task, self.dims, drawn)]

    def _answer(self, seed: int, first: Future[list[Array]]) -> Answer:
        """Made as the others are, a sum of two draws: a sum can be told from a draw by its last bits."""
        constants, drawn = first.result(), self._draw(seed)
        if self._mixes:
            drawn = [mixed(v, w) for v, w in zip(drawn, _halved(self._draw(seed + 1)), strict=True)]
        drawn = [c if b.constant else v for b, v, c in zip(self.task.inputs, drawn, constants, strict=True)]
        return drawn, [_bounds(e) for e in expect(self.task, self.dims, drawn, workers=self._crew.hands)]

    def _draw(self, seed: int) -> list[Array]:
        return self._drawn(self.dims, np.random.default_rng(seed))

    def _drawn(self, dims: Dims, rng: np.random.Generator) -> list[Array]:
        """With nothing planted: it would stay in the answers, which mix the same places, and nowhere else."""
        return draw_inputs(self.task, dims, self._distribution, rng, plain=True)

    def _draw_repeated(self, seed: int) -> list[Array]:
        """Where nothing is judged: a block of numbers, kept again and again, since drawing gigabytes takes seconds."""
        small = {name: min(size, _BLOCK) for name, size in self.dims.items()}
        return self._drawn(small, np.random.default_rng(seed))

    def _base(self, values: list[Array]) -> list[int]:
        sizes = [b.nbytes(self.dims) for b in self.task.inputs]
        return [self._keep(v, size) for v, size in zip(_halved(values), sizes, strict=True)]

    def _keep(self, values: Array, nbytes: int = 0) -> int:
        """Device memory of our own with these contents, again and again where it is to be so much larger."""
        context, size = self._keeper.context, max(nbytes, values.nbytes)
        address = context.allocate(size)
        self._owned.append(address)
        context.upload(address, values)
        there = values.nbytes
        while there < size:
            context.copy(address + there, address, min(there, size - there))
            there *= 2
        return address

    def _refresh(self, call: Call) -> None:
        if self.task.oracle is not None:
            self._copy(call, self.task.oracle.draw(self.dims, int(self._secret.integers(1 << 62))))
            return
        drawn: list[Array] | None = None
        for index, (buffer, region) in enumerate(zip(self.task.inputs, call.inputs, strict=True)):
            if self._constant[index]:
                self._keeper.context.copy(self.inputs.at(region), self._constant[index], region.nbytes)
            elif self._mixes and is_float(region.dtype) and region.count >= LEAST_MIXED:
                first, second = (self._bases[int(k)][index] for k in self._secret.choice(_BASES, 2, replace=False))
                a, b = (int(v) for v in self._secret.integers(region.count, size=2))
                where = self.inputs.at(region)
                self._keeper.run(f"mix_{region.dtype}", region.count, where, first, second, region.count, a, b)
            elif self._mixes:
                self.inputs.write(region, numbers(self._secret, buffer, self.dims))
            else:
                drawn = drawn or self._drawn(self.dims, self._secret)
                self.inputs.write(region, drawn[index])

    def _copy(self, call: Call, tensors: list[Any]) -> None:
        for region, tensor in zip(call.inputs, tensors, strict=True):
            self._keeper.context.copy(self.inputs.at(region), int(tensor.data_ptr()), region.nbytes)
        self._keeper.context.synchronize()


def mixed(draw: Array, base: Array) -> Array:
    """A draw as the sum of two, standard normal again; what is no float, or too small to be mixed, stays as it is."""
    if not is_float(draw.dtype) or draw.size < LEAST_MIXED:
        return draw
    halved = draw * draw.dtype.type(math.sqrt(0.5))
    return np.asarray((widen(halved) + widen(base.reshape(draw.shape))).astype(draw.dtype))


def _halved(values: list[Array]) -> list[Array]:
    """Scaled so that the sum of two is standard normal again."""
    return [(v * v.dtype.type(math.sqrt(0.5))).astype(v.dtype) if is_float(v.dtype) else v for v in values]


def _bounds(expected: Expected) -> Expected:
    """Without the float64 arrays: the interval and the budget are what the device needs."""
    empty = np.empty(0)
    return Expected(empty, empty, expected.budget_ulp, expected.low, expected.high, expected.exact)
