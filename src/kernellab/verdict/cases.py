"""The cases of a judgement: which shapes under which distributions, laid out in shared buffers with their answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from kernellab.run.arena import Arena
from kernellab.run.base import SLOWNESS, Call, Device, Memory
from kernellab.tasks.crew import Crew
from kernellab.tasks.expected import Expected
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.oracle import expect
from kernellab.tasks.spec import Array, Dims, Task, dims_label, elements

_BASE_TIMEOUT_S = 2.0
_AHEAD_BYTES = 16 << 30
_ANSWER_BYTES = 24  # an element: value and scale in float64, the interval's ends


@dataclass(frozen=True)
class _Made:
    """A case: its inputs, what is expected of the outputs, and the oracle's seconds."""

    inputs: list[Array]
    expected: list[Expected]
    seconds: float


@dataclass(frozen=True)
class Case:
    dims: Dims
    distribution: str
    group: str

    @property
    def label(self) -> str:
        shape = "held-out shape" if self.group == "held-out" else dims_label(self.dims)
        return f"{shape}, {self.distribution}"


def screen_cases(task: Task, few: bool = False) -> list[Case]:
    """Cheap and sharp: every edge shape under three distributions in rotation, the largest under all.

    `few`: the largest alone, where every shape may cost a compilation of its own.
    """
    names = list(task.distributions)
    shapes = () if few else task.edge
    cases = [Case(dims, names[(i + k) % len(names)], "edge") for i, dims in enumerate(shapes) for k in range(3)]
    largest = max(task.edge, key=task.least_bytes)
    cases += [Case(largest, name, "edge") for name in names]
    return list({(dims_label(c.dims), c.distribution): c for c in cases}.values())


def full_cases(task: Task, dims: Dims) -> list[Case]:
    """Everything: every distribution at every shape that a claim rests on. A kernel that is right on the ordinary inputs
    of its tuned shape and wrong on the others would be right nowhere else."""
    groups = [*((d, "edge") for d in task.edge), *((d, "held-out") for d in task.held_out), (dims, "tune")]
    cases = [Case(d, name, group) for d, group in groups for name in task.distributions]
    return list({(dims_label(c.dims), c.distribution): c for c in cases}.values())


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
    """

    def __init__(
        self, task: Task, cases: Sequence[Case], seed: bytes, device: Device | None = None,
        crew: Crew | None = None, keep: bool = True,
    ) -> None:  # fmt: skip
        self.task = task
        self.cases = list(cases)
        self.seed = seed
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
        self._keep = keep
        self._crew = crew
        self._kept: dict[int, list[Expected]] = {}
        self._laid_out: set[int] = set()
        self._coming: dict[int, Future[_Made]] = {}
        self._next = 0
        self._opened = False
        self._make_ahead()

    def answers(self, number: int) -> list[Expected]:
        """What the outputs of a case must be; from then on its inputs lie in their buffers."""
        if number in self._kept:
            return self._kept[number]
        coming = self._coming.pop(number, None)
        made = coming.result() if coming is not None else self._make(number)
        self._make_ahead()
        if number not in self._laid_out:
            self._lay_out(number, made)
        if self._keep:
            self._kept[number] = made.expected
        return made.expected

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
            self._next += 1

    def _room_for(self, number: int) -> bool:
        coming = sum(self._bytes(n) for n in self._coming)
        return not self._coming or coming + self._bytes(number) <= _AHEAD_BYTES

    def _bytes(self, number: int) -> int:
        dims = self.cases[number].dims
        return _ANSWER_BYTES * elements(self.task.outputs, dims) + sum(b.nbytes(dims) for b in self.task.inputs)

    def _make(self, number: int) -> _Made:
        case = self.cases[number]
        rng = np.random.default_rng([*np.frombuffer(self.seed, np.uint32).tolist(), number])
        drawn = draw_inputs(self.task, case.dims, case.distribution, rng)
        started = time.perf_counter()
        hands = self._crew.hands if self._crew is not None else None
        return _Made(drawn, expect(self.task, case.dims, drawn, workers=hands), time.perf_counter() - started)

    def _lay_out(self, number: int, made: _Made) -> None:
        self._laid_out.add(number)
        for region, values in zip(self.calls[number].inputs, made.inputs, strict=True):
            self.inputs.write(region, values)
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
