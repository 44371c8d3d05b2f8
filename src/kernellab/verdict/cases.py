"""The cases of a judgement: which shapes under which distributions, laid out in shared buffers with their answers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernellab.core.errors import EnvironmentFault
from kernellab.run.arena import Arena
from kernellab.run.base import SLOWNESS, Call, Device, Memory, TensorMemory
from kernellab.tasks.crew import Crew
from kernellab.tasks.inputs import draw_inputs, plain_distributions
from kernellab.tasks.oracle import expect
from kernellab.tasks.room import ANSWER_BYTES, TOGETHER_BYTES
from kernellab.tasks.spec import Dims, Task, dims_label, elements
from kernellab.verdict.answers import Answers, DeviceAnswers, HostAnswers, Taken
from kernellab.verdict.numeric import Mismatch

_BASE_TIMEOUT_S = 2.0
_ON_DEVICE_S = 30.0
"""For a case whose oracle is not asked before it runs."""
_LARGE = 4 << 20
"""Bytes of a case from which on it pays to leave it on the device."""


@dataclass(frozen=True)
class _Made:
    """A case: its inputs (arrays, or tensors of the device), the answers, and the oracle's seconds."""

    inputs: Sequence[Any]
    answers: Answers
    seconds: float


@dataclass(frozen=True)
class Case:
    """`plain`: of its distribution with nothing planted. What is planted always would be a mark of judged inputs. `again`: a
    second drawing, where one shows little of what its distribution has."""

    dims: Dims
    distribution: str
    group: str
    plain: bool = False
    again: bool = False

    @property
    def label(self) -> str:
        shape = "held-out shape" if self.group == "held-out" else dims_label(self.dims)
        return f"{shape}, {self.distribution}{', plain' if self.plain else ''}{', again' if self.again else ''}"


def screen_cases(task: Task, few: bool = False) -> list[Case]:
    """Cheap and sharp: every edge shape under three distributions in rotation, the largest under all, and under one plain.

    `few`: the largest alone, where every shape may cost a compilation of its own.
    """
    names = list(task.distributions)
    shapes = () if few else task.edge
    cases = [Case(dims, names[(i + k) % len(names)], "edge") for i, dims in enumerate(shapes) for k in range(3)]
    largest = max(task.edge, key=task.least_bytes)
    cases += [Case(largest, name, "edge") for name in names]
    cases += [Case(largest, name, "edge", plain=True) for name in plain_distributions(task)[-1:]]
    return _once(cases)


def full_cases(task: Task, dims: Dims) -> list[Case]:
    """Everything: every distribution at every shape that a claim rests on. A kernel that is right on the ordinary inputs
    of its tuned shape and wrong on the others would be right nowhere else.

    Drawn plain as well: one at every edge shape, in rotation, and at the timed shape all but the first, which is timed. Of
    a shape that is kept back one is drawn plain instead: those are large, and the others are planted. Twice at the timed
    shape: distributions whose drawings have little in common."""
    plain = plain_distributions(task)
    turn = [plain[i % len(plain)] if plain else "" for i in range(max(len(task.edge), len(task.held_out)))]
    cases = [Case(d, name, "edge") for d in task.edge for name in task.distributions]
    cases += [Case(d, n, "held-out", n == turn[i]) for i, d in enumerate(task.held_out) for n in task.distributions]
    cases += [Case(dims, name, "tune") for name in task.distributions]
    cases += [Case(dims, name, "tune", again=True) for name in task.varied]
    cases += [Case(d, turn[i], "edge", plain=True) for i, d in enumerate(task.edge) if plain]
    return _once([*cases, *(Case(dims, name, "tune", plain=True) for name in plain[1:] or plain)])


def _once(cases: Sequence[Case]) -> list[Case]:
    return list({(dims_label(c.dims), c.distribution, c.plain, c.again): c for c in cases}.values())


def shapes_of(cases: Sequence[Case], dims: Dims) -> list[Dims]:
    """Every shape for which a plan is recorded, the timed one first."""
    shapes: list[Dims] = [dims]
    shapes.extend(case.dims for case in cases if case.dims not in shapes)
    return list({dims_label(d): d for d in shapes}.values())


def all_shapes(task: Task, dims: Dims) -> list[Dims]:
    """Every shape that a claim rests on."""
    return shapes_of(full_cases(task, dims), dims)


class CaseTable:
    """Cases with inputs drawn from one secret seed, their expected outputs, and the buffers that hold them.

    `keep`: the answers serve many candidates. Else each is let go when it has been used, and made again if it must be:
    those of large shapes take gigabytes. With a `crew` they are made in the background, as far ahead as memory allows.
    A table has as many of the cases as fit into memory together; `following` has the others. `first`: the number of the
    first one, which decides about the inputs of each.
    """

    def __init__(
        self, task: Task, cases: Sequence[Case], seed: bytes, device: Device | None = None,
        crew: Crew | None = None, keep: bool = True, first: int = 0,
    ) -> None:  # fmt: skip
        self.task = task
        self.all_cases = list(cases)
        self.cases = self.all_cases[: _fitting(task, self.all_cases)]
        self.seed = seed
        self._device, self._first = device, first
        memory = device.memory if device is not None else Arena
        self._slowness = device.slowness if device is not None else SLOWNESS
        self.inputs: Memory = memory("inputs", seed[:16])
        self.outputs: Memory = memory("outputs", seed[16:32])
        self.calls = [
            Call(
                case.dims,
                tuple(self.inputs.declare(b.shape(case.dims), b.dtype) for b in task.inputs),
                tuple(self.outputs.declare(b.shape(case.dims), b.dtype) for b in task.outputs),
            )
            for case in self.cases
        ]
        self.timeouts = [_BASE_TIMEOUT_S] * len(self.cases)
        self._bytes = [_made_bytes(task, case.dims) for case in self.cases]
        self._coming_bytes = 0
        self._keep = keep
        self._crew = crew
        self._kept: dict[int, Answers] = {}
        self._on_device: set[int] = set()
        self._laid_out: set[int] = set()
        self._coming: dict[int, Future[_Made]] = {}
        self._next = 0
        self._opened = False
        self._make_ahead()

    def following(self) -> CaseTable | None:
        """The cases that had no room here, as far as they have room together; None where there are none."""
        rest = self.all_cases[len(self.cases) :]
        if not rest:
            return None
        first = self._first + len(self.cases)
        return CaseTable(self.task, rest, self.seed, self._device, self._crew, self._keep, first)

    def take(self, numbers: Sequence[int], copied: bool = True) -> list[Taken]:
        """The outputs of these cases, as they are now. Not `copied`: to be looked at before the next call."""
        there = [n for n in numbers if n in self._on_device]
        here = [n for n in numbers if n not in self._on_device]
        found = dict(zip(here, self._take_arrays(here, copied), strict=True)) | {
            n: self._take_digests(n) for n in there
        }
        return [found[n] for n in numbers]

    def _take_arrays(self, numbers: Sequence[int], copied: bool) -> list[Taken]:
        regions = [region for number in numbers for region in self.calls[number].outputs]
        found = iter(self.outputs.take_all(regions, copied)) if regions else iter(())
        taken = []
        for _ in numbers:
            outputs = [(buffer.name, *next(found)) for buffer in self.task.outputs]
            taken.append(Taken(_stray((name, side) for name, _, side in outputs), [array for _, array, _ in outputs]))
        return taken

    def _take_digests(self, number: int) -> Taken:
        assert isinstance(self.outputs, TensorMemory), "decided when the case was made"
        regions, names = self.calls[number].outputs, [b.name for b in self.task.outputs]
        broken = _stray((name, self.outputs.intact(r)) for name, r in zip(names, regions, strict=True))
        secret = int.from_bytes(self.seed[:7], "little")
        return Taken(broken, digests=self.outputs.digests(regions, secret))

    def answers(self, number: int) -> Answers:
        """What the outputs of a case must be; from then on its inputs lie in their buffers."""
        if number in self._kept:
            return self._kept[number]
        coming = self._coming.pop(number, None)
        self._coming_bytes -= self._bytes[number] if coming is not None else 0
        made = coming.result() if coming is not None else self._make(number)
        self._make_ahead()
        if number not in self._laid_out:
            self._lay_out(number, made)
        if self._keep:
            self._kept[number] = made.answers
        return made.answers

    @property
    def joint_timeout(self) -> float:
        """For all cases in one go: one base, and each one's own work."""
        return _BASE_TIMEOUT_S + sum(t - _BASE_TIMEOUT_S for t in self.timeouts)

    def ready(self) -> CaseTable:
        """Open the buffers; where answers are kept, wait for all of them."""
        if not self._opened:
            self.inputs.open()
            self.outputs.open()
            self._opened = True
        for number in range(len(self.cases)) if self._keep else ():
            self.answers(number)
        return self

    def _make_ahead(self) -> None:
        """Have as many made in the background as fit into memory; at least one."""
        while self._crew is not None and self._next < len(self.cases) and self._room_for(self._next):
            self._coming[self._next] = self._crew.leads.submit(self._make, self._next)
            self._coming_bytes += self._bytes[self._next]
            self._next += 1

    def _room_for(self, number: int) -> bool:
        most = self._crew.ahead_bytes if self._crew is not None else 0
        return not self._coming or self._coming_bytes + self._bytes[number] <= most

    def _make(self, number: int) -> _Made:
        """A case that is made again is made where it was before: the inputs in its buffers were drawn there."""
        entropy = [*np.frombuffer(self.seed, np.uint32).tolist(), self._first + number]
        if number in self._laid_out and number not in self._on_device:
            return self._made_here(number, entropy)
        there = self._made_there(number, entropy)
        if there is None and number in self._on_device:
            raise EnvironmentFault("the device has no room to judge a case again", "try again; others may be using it")
        return there or self._made_here(number, entropy)

    def _made_here(self, number: int, entropy: list[int]) -> _Made:
        case = self.cases[number]
        drawn = draw_inputs(self.task, case.dims, case.distribution, np.random.default_rng(entropy), case.plain)
        started = time.perf_counter()
        hands = self._crew.hands if self._crew is not None else None
        expected = expect(self.task, case.dims, drawn, workers=hands)
        return _Made(drawn, HostAnswers(expected), time.perf_counter() - started)

    def _made_there(self, number: int, entropy: list[int]) -> _Made | None:
        """On the device, where that has torch and room for it, and the case is large."""
        case, oracle = self.cases[number], self.task.oracle
        if oracle is None or self._bytes[number] < _LARGE or not isinstance(self.outputs, TensorMemory):
            return None
        seed = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> np.uint64(1))
        found = oracle.case(case.dims, case.distribution, seed)
        if found is None:
            return None
        return _Made(found.inputs, DeviceAnswers(found, self.outputs, self.calls[number]), 0.0)

    def _lay_out(self, number: int, made: _Made) -> None:
        self._laid_out.add(number)
        for region, values in zip(self.calls[number].inputs, made.inputs, strict=True):
            if made.answers.on_device:
                assert isinstance(self.inputs, TensorMemory), "decided when the case was made"
                self.inputs.adopt(region, values)
            else:
                self.inputs.write(region, values)
        if made.answers.on_device:
            self._on_device.add(number)
            self.timeouts[number] += _ON_DEVICE_S
        self.timeouts[number] += self._slowness * made.seconds

    def close(self) -> None:
        for future in self._coming.values():
            future.cancel()
        self.inputs.close()
        self.outputs.close()

    def __enter__(self) -> CaseTable:
        return self.ready()

    def __exit__(self, *_: object) -> None:
        self.close()


def _made_bytes(task: Task, dims: Dims) -> int:
    """What a case takes that waits to be used: its answers and inputs."""
    return ANSWER_BYTES * elements(task.outputs, dims) + sum(b.nbytes(dims) for b in task.inputs)


def _fitting(task: Task, cases: Sequence[Case]) -> int:
    """How many of the first cases have room together; one at least. The others are in the next table."""
    used = 0
    for count, case in enumerate(cases):
        used += sum(b.nbytes(case.dims) for b in (*task.inputs, *task.outputs))
        if used > TOGETHER_BYTES:
            return max(1, count)
    return len(cases)


def _stray(sides: Iterable[tuple[str, str]]) -> Mismatch | None:
    """The first output whose guard band was overwritten, by name and side."""
    return next((stray(name, side) for name, side in sides if side), None)


def stray(name: str, side: str) -> Mismatch:
    return Mismatch("out-of-bounds", f"wrote {side} the buffer of '{name}'", None, None)
