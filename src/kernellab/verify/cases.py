"""The cases of a judgement: which shapes under which distributions, laid out in shared buffers with their answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernellab.run.arena import Arena
from kernellab.run.cpu import Call
from kernellab.tasks.inputs import draw_inputs
from kernellab.tasks.oracle import Expected, expect
from kernellab.tasks.spec import Dims, Task, dims_label

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


def screen_cases(task: Task) -> list[Case]:
    """Cheap and sharp: every edge shape under three distributions in rotation, the largest under all."""
    names = list(task.distributions)
    cases = [Case(dims, names[(i + k) % len(names)], "edge") for i, dims in enumerate(task.edge) for k in range(3)]
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


def all_shapes(task: Task, dims: Dims) -> list[Dims]:
    """Every shape for which a plan is recorded, the timed one first."""
    shapes: list[Dims] = [dims]
    for group in (task.edge, task.held_out):
        shapes.extend(d for d in group if d not in shapes)
    return shapes


class CaseTable:
    """Cases with inputs drawn from one secret seed, their expected outputs, and the shared buffers that hold them."""

    def __init__(self, task: Task, cases: Sequence[Case], seed: bytes) -> None:
        self.task = task
        self.cases = list(cases)
        self.seed = seed
        self.inputs = Arena("inputs", seed[:16])
        self.outputs = Arena("outputs", seed[16:32])
        self.calls: list[Call] = []
        self.expected: list[list[Expected]] = []
        self.timeouts: list[float] = []
        for case in self.cases:
            self.calls.append(Call(
                case.dims,
                tuple(self.inputs.declare(b.shape(case.dims), b.dtype) for b in task.inputs),
                tuple(self.outputs.declare(b.shape(case.dims), b.dtype) for b in task.outputs),
            ))  # fmt: skip
        self.inputs.open()
        self.outputs.open()
        rng = np.random.default_rng(np.frombuffer(seed, np.uint32))
        for case, call in zip(self.cases, self.calls, strict=True):
            drawn = draw_inputs(task, case.dims, case.distribution, rng)
            for region, values in zip(call.inputs, drawn, strict=True):
                self.inputs.array(region)[...] = values
            started = time.perf_counter()
            self.expected.append(expect(task, case.dims, drawn))
            self.timeouts.append(_BASE_TIMEOUT_S + 100 * (time.perf_counter() - started))

    def close(self) -> None:
        self.inputs.close()
        self.outputs.close()

    def __enter__(self) -> CaseTable:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
