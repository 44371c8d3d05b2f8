"""Outcomes as a proposer is told them, without a trial behind them."""

from __future__ import annotations

from kernellab.measurement.stats import Estimate
from kernellab.propose.base import Idea, TrialOutcome


def timed(idea: Idea, speedup: float | None, trial: int = 0) -> TrialOutcome:
    """None: it could not even be built."""
    if speedup is None:
        return TrialOutcome(idea, trial, "build", "build-failed: made up")
    return TrialOutcome(idea, trial, "timing", speedup=Estimate(speedup, speedup, speedup, 1))
