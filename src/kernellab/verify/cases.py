"""The cases of a judgement: which shapes under which distributions, laid out in shared buffers with their answers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from kernellab.run.arena import Arena
from kernellab.run.base import SLOWNESS, Call, Device, Memory
from kernellab.tasks.crew import Crew
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.oracle import Expected, expect
from kernellab.tasks.spec import Array, Dims, Task, dims_label

_BASE_TIMEOUT_S = 2.0


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
    """Everything: edges under all distributions, held-out and tuning shapes under several."""
    names = list(task.distributions)
    cases = [Case(d, name, "edge") for d in task.edge for name in names]
    cases += [Case(d, names[(i + k) % len(names)], "held-out") for i, d in enumerate(task.held_out) for k in (0, 1)]
    cases += [Case(dims, name, "tune") for name in names[:2]]
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

    With a `crew` the drawing and the oracle go on in the background until `ready` is called.
    """

    def __init__(
        self, task: Task, cases: Sequence[Case], seed: bytes, device: Device | None = None,
        crew: Crew | None = None,
    ) -> None:  # fmt: skip
        self.task = task
        self.cases = list(cases)
        self.seed = seed
        memory = device.memory if device is not None else Arena
        self._slowness = device.slowness if device is not None else SLOWNESS
        self.inputs: Memory = memory("inputs", seed[:16])
        self.outputs: Memory = memory("outputs", seed[16:32])
        self.calls: list[Call] = []
        self.expected: list[list[Expected]] = []
        self.timeouts: list[float] = []
        for case in self.cases:
            self.calls.append(Call(
                case.dims,
                tuple(self.inputs.declare(b.shape(case.dims), b.dtype) for b in task.inputs),
                tuple(self.outputs.declare(b.shape(case.dims), b.dtype) for b in task.outputs),
            ))  # fmt: skip
        self._coming: list[Future[tuple[list[Array], list[Expected], float]]] = []
        self._crew = crew
        if crew is not None:
            self._coming = [crew.leads.submit(self._make, number) for number in range(len(self.cases))]
        else:
            self._lay_out(self._make(number) for number in range(len(self.cases)))

    def ready(self) -> CaseTable:
        """Wait for what is made in the background."""
        if self._coming:
            coming, self._coming = self._coming, []
            self._lay_out(future.result() for future in coming)
        return self

    def _make(self, number: int) -> tuple[list[Array], list[Expected], float]:
        case = self.cases[number]
        rng = np.random.default_rng([*np.frombuffer(self.seed, np.uint32).tolist(), number])
        drawn = draw_inputs(self.task, case.dims, case.distribution, rng)
        started = time.perf_counter()
        hands = self._crew.hands if self._crew is not None else None
        return drawn, expect(self.task, case.dims, drawn, workers=hands), time.perf_counter() - started

    def _lay_out(self, made: Iterable[tuple[list[Array], list[Expected], float]]) -> None:
        self.inputs.open()
        self.outputs.open()
        for call, (drawn, expected, seconds) in zip(self.calls, made, strict=True):
            for region, values in zip(call.inputs, drawn, strict=True):
                self.inputs.write(region, values)
            self.expected.append(expected)
            self.timeouts.append(_BASE_TIMEOUT_S + self._slowness * seconds)

    def close(self) -> None:
        for future in self._coming:
            future.cancel()
        self.inputs.close()
        self.outputs.close()

    def __enter__(self) -> CaseTable:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
