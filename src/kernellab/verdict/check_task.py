"""A task proved alone: its judge is tried on wrong kernels, and what was derived for it is said. Nothing is built."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernellab.tasks.oracle import floor_ulp
from kernellab.tasks.spec import Task, dims_label
from kernellab.verdict.controls import Drawn, examine


@dataclass(frozen=True)
class OutputScale:
    """`scale` is the median of scale over magnitude: 1 where an element's size is the yardstick, large where terms cancel.
    `floor_ulp` is what any honest kernel may be off, `budget_ulp` what is allowed on these inputs; both None where exact."""

    name: str
    distribution: str
    scale: float | None
    floor_ulp: float | None
    budget_ulp: float | None


@dataclass(frozen=True)
class Least:
    """What any kernel must move and compute at a shape: with a machine's ceilings, its floor."""

    shape: str
    bytes: int
    flops: int


@dataclass(frozen=True)
class Checked:
    name: str
    about: str
    fingerprint: str
    precision: str
    inputs: dict[str, str]
    outputs: dict[str, str]
    tune: tuple[str, ...]
    edge: tuple[str, ...]
    held_out: int
    distributions: tuple[str, ...]
    scales: tuple[OutputScale, ...]
    least: tuple[Least, ...]
    controls: int
    remarks: tuple[str, ...]
    seconds: float

    def data(self) -> dict[str, Any]:
        """The object that --json ends with."""
        return {"status": "proved", **asdict(self)}


def check_task(task: Task) -> Checked:
    """Raises TaskRefused where its judge could be fooled."""
    started = time.perf_counter()
    proof = examine(task)
    largest = max(task.edge, key=task.least_bytes)
    shown = {drawn[0].distribution: drawn for drawn in proof.drawn if drawn[0].dims == largest}
    return Checked(
        name=task.name,
        about=task.about,
        fingerprint=task.fingerprint(),
        precision=task.precision,
        inputs={b.name: f"{b.dtype}[{', '.join(map(str, b.extents))}]" for b in task.inputs},
        outputs={b.name: f"{b.dtype}[{', '.join(map(str, b.extents))}]" for b in task.outputs},
        tune=tuple(dims_label(d) for d in task.tune),
        edge=tuple(dims_label(d) for d in task.edge),
        held_out=len(task.held_out),
        distributions=tuple(task.distributions),
        scales=tuple(s for name in task.distributions for s in _scales(task, shown[name])),
        least=tuple(Least(dims_label(d), task.least_bytes(d), task.least_flops(d)) for d in task.tune),
        controls=proof.controls,
        remarks=proof.remarks,
        seconds=time.perf_counter() - started,
    )


def _scales(task: Task, drawn: Drawn) -> list[OutputScale]:
    case, inputs, expected = drawn
    found = []
    for buffer, wanted in zip(task.outputs, expected, strict=True):
        if wanted.exact:
            found.append(OutputScale(buffer.name, case.distribution, None, None, None))
            continue
        size = np.abs(wanted.value)
        known = np.isfinite(size) & (size > 0)
        ratio = float(np.median(wanted.scale[known] / size[known])) if known.any() else 1.0
        floor = wanted.floor_ulp or floor_ulp(task, case.dims, inputs)
        found.append(OutputScale(buffer.name, case.distribution, ratio, floor, wanted.budget_ulp))
    return found
