"""Trials of a recorded run, changed as a test needs them."""

from __future__ import annotations

from typing import Any

from tests.support.recorded import CUBE

from kernellab.core.records import DuplicateTrial, FailedTrial, MeasuredTrial, RejectedTrial, UntimedTrial
from kernellab.ledger.run import Run

TRIALS = Run(CUBE).trials


def measured(low: float = 2.0, value: float = 2.04, high: float = 2.08, **timing: Any) -> MeasuredTrial:
    trial = next(t for t in TRIALS if isinstance(t, MeasuredTrial))
    figures = {"speedup_low": low, "speedup": value, "speedup_high": high, "disturbed": False, **timing}
    return trial.model_copy(update={"timing": trial.timing.model_copy(update=figures)})


def rejected() -> RejectedTrial:
    return next(t for t in TRIALS if isinstance(t, RejectedTrial))


def failed() -> FailedTrial:
    return next(t for t in TRIALS if isinstance(t, FailedTrial))


def duplicate() -> DuplicateTrial:
    return next(t for t in TRIALS if isinstance(t, DuplicateTrial))


def busy() -> UntimedTrial:
    trial = measured()
    plain = trial.model_dump(exclude={"timing", "trust", "status"})
    return UntimedTrial.model_validate({**plain, "reason": "others use it"})
