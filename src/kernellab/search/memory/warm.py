"""Warm start: what was best at the nearest place that has been searched, each with where it comes from.

A place is (task family, shape, dtype, device). The distance between two, in doublings:
- shape: Euclidean over log2 of the extents, which must have the same names;
- dtype: 0 the same, 0.5 another of the same size, 1 another size (vector widths and tile bytes change with it);
- device: 0 the same model, 1 another model of the same architecture, 3 another architecture, and no way at all from a
  processor to a GPU or back, nor from one task family to another: such a candidate could not even be run.
So an adjacent shape (one extent doubled) is as far as another dtype, and both are nearer than another architecture.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernellab.core.records import MeasuredTrial, Param
from kernellab.core.targets import recorded_machine
from kernellab.search.archive import AnyTrial
from kernellab.tasks.dtypes import PRECISIONS, limits, split_name
from kernellab.tasks.spec import Dims, dims_label

_BITS = {short: limits(dtype).bits for dtype, short in PRECISIONS.items()}
_OTHER_MODEL = 1.0
_OTHER_ARCHITECTURE = 3.0


@dataclass(frozen=True)
class Place:
    """`device` as the records write it."""

    family: str
    dims: Dims
    dtype: str
    device: str

    @property
    def architecture(self) -> str:
        """The generation of a GPU (sm_90 and sm_90a are one); processors are all of one."""
        found, machine = recorded_machine(self.device)
        return machine.generation if machine else found.architecture

    @property
    def platform(self) -> str:
        return recorded_machine(self.device)[0].kind

    @property
    def label(self) -> str:
        return f"{self.family} {dims_label(self.dims)} {self.dtype} on {self.device}"


@dataclass(frozen=True)
class Start:
    """A recorded kernel to begin with: its source's hash and parameters, how good it was, and where."""

    run: str
    trial: MeasuredTrial
    place: Place
    distance: float

    @property
    def name(self) -> str:
        return self.trial.proposal.name

    @property
    def params(self) -> dict[str, Param]:
        return dict(self.trial.proposal.params)

    @property
    def origin(self) -> str:
        """For the proposal's `why` and for prompts."""
        timing = self.trial.timing
        figure = f"{timing.speedup:.3f}x of {timing.baseline} [{timing.speedup_low:.3f}, {timing.speedup_high:.3f}]"
        return f"trial {self.trial.trial} of {self.run}: {figure} at {self.place.label} (distance {self.distance:.2f})"


def place_of(trial: AnyTrial) -> Place:
    return place(trial.task, trial.dims, trial.device)


def place(task: str, dims: Dims, device: str) -> Place:
    family, dtype = split_name(task)
    return Place(family, dict(dims), dtype, device)


def distance(a: Place, b: Place) -> float:
    """Infinite where nothing can be carried over."""
    if a.family != b.family or {*a.dims} != {*b.dims} or a.platform != b.platform:
        return math.inf
    shape = math.sqrt(sum(math.log2(a.dims[k] / b.dims[k]) ** 2 for k in a.dims))
    dtype = 0.0 if a.dtype == b.dtype else 0.5 if _BITS.get(a.dtype) == _BITS.get(b.dtype) else 1.0
    return shape + dtype + _devices_apart(a, b)


def warm_start(runs: Mapping[str, Sequence[AnyTrial]], wanted: Place, most: int = 3) -> list[Start]:
    """The best few of the nearest place (by the lower bound of the speed-up), then of the next, until there are `most`.

    `runs`: trials by the name of the run they come from. The same source with the same parameters comes once.
    """
    found = []
    for run, trials in runs.items():
        for trial in trials:
            if isinstance(trial, MeasuredTrial) and (apart := distance(here := place_of(trial), wanted)) < math.inf:
                found.append(Start(run, trial, here, apart))
    found.sort(key=lambda s: (round(s.distance, 9), -s.trial.timing.speedup_low, s.run, s.trial.trial))
    chosen: dict[tuple[str, tuple[tuple[str, Param], ...]], Start] = {}
    for start in found:
        chosen.setdefault((start.trial.proposal.source, tuple(sorted(start.params.items()))), start)
    return list(chosen.values())[: max(0, most)]


def _devices_apart(a: Place, b: Place) -> float:
    if a.device == b.device:
        return 0.0
    return _OTHER_MODEL if a.architecture == b.architecture else _OTHER_ARCHITECTURE
