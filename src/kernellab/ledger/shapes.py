"""What a run recorded about each shape: calibrations, trials, confirmations and result, with their places in the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from kernellab.core.records import AnyTrial, Confirmation, MeasuredTrial, Timing
from kernellab.ledger import kinds
from kernellab.ledger.records import (
    AnyResult,
    Calibration,
    Genesis,
    Judged,
    ProfileReport,
    Published,
    SanitizerReport,
    Unpublished,
)
from kernellab.ledger.run import Run, TypedEntry, place_of
from kernellab.tasks.spec import Dims

_ABOUT_SHAPES = (kinds.CALIBRATION, kinds.TRIAL, kinds.CONFIRMATION, kinds.RESULT, kinds.PROFILE, kinds.SANITIZER)


@dataclass(frozen=True)
class Confirmed:
    """A confirmation, and the calibration that was in force then."""

    entry: TypedEntry[Confirmation]
    calibration: TypedEntry[Calibration] | None


@dataclass(frozen=True)
class PublishedKernel:
    """The confirmed kernel that a shape's result names."""

    trial: MeasuredTrial
    tried: int
    confirmed: Confirmed
    timing: Timing


@dataclass
class RunShape:
    """`calibration` and `result` are the last ones. `confirmed`: by the trial's number."""

    task: str
    dims: Dims
    calibration: TypedEntry[Calibration] | None = None
    trials: list[TypedEntry[AnyTrial]] = field(default_factory=list)
    confirmed: dict[int, Confirmed] = field(default_factory=dict)
    result: TypedEntry[AnyResult] | None = None
    profiles: list[TypedEntry[ProfileReport]] = field(default_factory=list)
    sanitizer: list[TypedEntry[SanitizerReport]] = field(default_factory=list)

    @property
    def label(self) -> str:
        return ", ".join(f"{k}={v}" for k, v in self.dims.items())

    @property
    def published(self) -> PublishedKernel | None:
        number = self.result.record.trial if self.result else None
        tried = next((e for e in self.trials if e.record.trial == number), None)
        if number not in self.confirmed or tried is None or not isinstance(tried.record, MeasuredTrial):
            return None
        confirmed = self.confirmed[number]
        timing = confirmed.entry.record.timing
        return PublishedKernel(tried.record, tried.seq, confirmed, timing) if timing is not None else None

    def _take(self, entry: TypedEntry[Any]) -> None:
        match entry.record:
            case Calibration():
                self.calibration = entry
            case Confirmation():
                self.confirmed[entry.record.trial] = Confirmed(entry, self.calibration)
            case Published() | Unpublished() | Judged():
                self.result = entry
            case ProfileReport():
                self.profiles.append(entry)
            case SanitizerReport():
                self.sanitizer.append(entry)
            case _:
                self.trials.append(entry)


def shapes_of(run: Run) -> list[RunShape]:
    """Those that were asked for, in that order, then any other in the order of the ledger."""
    found: dict[str, RunShape] = {}
    asked = run.start.shapes if isinstance(run.start, Genesis) else []
    for task, dims in chain(((run.genesis.task.name, dims) for dims in asked), _places(run)):
        found.setdefault(place_of(task, dims), RunShape(task, dict(sorted(dims.items()))))
    for entry in run.in_order(*_ABOUT_SHAPES):
        found[place_of(entry.record.task, entry.record.dims)]._take(entry)
    return list(found.values())


def _places(run: Run) -> Iterator[tuple[str, Dims]]:
    return ((entry.record.task, entry.record.dims) for entry in run.in_order(*_ABOUT_SHAPES))
