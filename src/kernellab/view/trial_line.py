"""A trial as a row of a table: plain data, ready for a page or for JSON."""

from __future__ import annotations

from dataclasses import dataclass

from kernellab.core.pairs import pairs_kept
from kernellab.core.records import (
    AnyTrial,
    Confirmation,
    DuplicateTrial,
    MeasuredTrial,
    Param,
    Rejected,
    RejectedTrial,
)
from kernellab.tasks.extents import extents


@dataclass(frozen=True)
class TrialLine:
    """`says`: what came of it in words. `faster`: the lower end of its interval is above 1. `confirmed`: what a confirmation
    said of it, or ""."""

    number: int
    name: str
    shape: str
    status: str
    says: str
    params: str
    origin: str
    speedup: float | None = None
    latency_ms: float | None = None
    of_floor: float | None = None
    faster: bool = False
    confirmed: str = ""
    win: bool = False


def line_of(trial: AnyTrial, confirmation: Confirmation | None = None) -> TrialLine:
    shape = extents(trial.task, trial.dims)
    head = (trial.trial, trial.proposal.name, shape, trial.status)
    tail = (params_of(trial.proposal.params), trial.proposal.origin)
    if not isinstance(trial, MeasuredTrial):
        return TrialLine(*head, _says(trial), *tail, confirmed=_confirmed(confirmation))
    t = trial.timing
    says = f"{t.speedup:.2f}x [{t.speedup_low:.2f}, {t.speedup_high:.2f}]" + (", raced" if t.stopped == "raced" else "")
    return TrialLine(
        *head, says, *tail, t.speedup, t.latency_s * 1e3, t.of_floor, t.speedup_low > 1, _confirmed(confirmation),
        confirmation is not None and confirmation.win,
    )  # fmt: skip


def params_of(params: dict[str, Param]) -> str:
    return " ".join(f"{k}={v}" for k, v in params.items())


def _says(trial: AnyTrial) -> str:
    if isinstance(trial, RejectedTrial):
        return f"{trial.verdict.cause}: {trial.verdict.reason}"
    if isinstance(trial, DuplicateTrial):
        return f"same machine code as #{trial.of}"
    return getattr(trial, "reason", "")


def _confirmed(confirmation: Confirmation | None) -> str:
    if confirmation is None:
        return ""
    if isinstance(confirmation.verdict, Rejected):
        return f"refuted: {confirmation.verdict.cause}"
    t = confirmation.timing
    if t is None:
        return f"right, not timed: {confirmation.busy}"
    kept = pairs_kept(len(t.candidate_s), len(t.dropped))
    figure = f"{t.speedup:.3f}x of {t.baseline} [{t.speedup_low:.3f}, {t.speedup_high:.3f}] ({kept})"
    word = "confirmed" if confirmation.win else "right, timing disturbed" if t.disturbed else "confirmed, no win"
    return f"{word}: {figure}"
