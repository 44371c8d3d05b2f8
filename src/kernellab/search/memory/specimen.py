"""A trial as the memory sees it: its record, its outcome (its twin's for a duplicate) and its source text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from kernellab.core.errors import LedgerFault
from kernellab.core.records import DuplicateTrial, FailedTrial, MeasuredTrial, RejectedTrial, Timing, UntimedTrial
from kernellab.ledger.store import Store
from kernellab.search.archive import AnyTrial

Reader = Callable[[str], str]
"""The text of a source by its hash, '' where it is not known."""


def no_text(source: str) -> str:
    """For ledgers whose store is not at hand: code is then compared by its hash alone."""
    return ""


def reader_of(store: Store) -> Reader:
    """Texts from a run's store, each read once; what was pruned or damaged reads as unknown: a memory can do without it."""

    @cache
    def read(source: str) -> str:
        try:
            return store.get(source).decode(errors="replace")
        except LedgerFault:
            return ""

    return read


@dataclass(frozen=True)
class Specimen:
    """`timing` is None for what never ran to the end; `reason` then says why."""

    trial: AnyTrial
    source: str
    timing: Timing | None
    reason: str

    @property
    def number(self) -> int:
        return self.trial.trial

    @property
    def arena(self) -> tuple[str, tuple[tuple[str, int], ...], str, str]:
        """Where its speed-up counts: task, shape, device and baseline. Only within one arena do times compare."""
        trial = self.trial
        baseline = self.timing.baseline if self.timing else ""
        return trial.task, tuple(sorted(trial.dims.items())), trial.device, baseline

    @cached_property
    def score(self) -> float | None:
        """The logarithm of its speed-up."""
        return math.log(max(self.timing.speedup, 1e-9)) if self.timing else None

    @cached_property
    def spread(self) -> tuple[float, float]:
        """The logarithms of its interval's ends; an empty interval at 0 for what was never measured."""
        if self.timing is None:
            return 0.0, 0.0
        return math.log(max(self.timing.speedup_low, 1e-9)), math.log(max(self.timing.speedup_high, 1e-9))


def recall(trials: Sequence[AnyTrial], read: Reader = no_text) -> list[Specimen]:
    """Every trial of one ledger as a specimen, in the ledger's order."""
    known = {t.trial: t for t in trials}
    found = []
    for trial in trials:
        outcome = known.get(trial.of, trial) if isinstance(trial, DuplicateTrial) else trial
        timing = outcome.timing if isinstance(outcome, MeasuredTrial) else None
        found.append(Specimen(trial, read(trial.proposal.source), timing, _reason(outcome)))
    return found


def _reason(trial: AnyTrial) -> str:
    if isinstance(trial, FailedTrial):
        return f"{trial.status}: {trial.reason}"
    if isinstance(trial, RejectedTrial):
        return f"{trial.verdict.cause}: {trial.verdict.reason}"
    if isinstance(trial, UntimedTrial):
        return f"{trial.status}: {trial.reason}"
    return "" if isinstance(trial, MeasuredTrial) else f"the same machine code as trial {trial.of}, which is not here"
