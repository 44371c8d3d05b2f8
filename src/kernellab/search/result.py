"""What a shape's search came to, in words and figures; nothing in it that is not in a confirmation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from kernellab.core.records import Confirmation, FailedTrial, MeasuredTrial, Passed, Rejected, RejectedTrial, Timing
from kernellab.ledger import kinds
from kernellab.ledger.records import FIGURES, AnyResult, Calibration, Published, Unpublished
from kernellab.measurement.winning import too_busy, why_no_win
from kernellab.search.archive import AnyTrial

__all__ = ["BEST", "FIGURES", "best_facts", "best_name", "plain", "summarise"]

Status = Literal["better", "busy", "nothing-better"]
_HINT = "end what else runs here, or let --wait wait for it"
BEST = "best-"


def plain(result: AnyResult) -> dict[str, Any]:
    """What the ledger and --json carry."""
    return kinds.RESULT.plain(result)


def best_name(dims: Mapping[str, int]) -> str:
    """How the files of a shape's winner are called, without their suffix."""
    return BEST + "-".join(f"{name}{value}" for name, value in dims.items())


def best_facts(trial: MeasuredTrial, result: Mapping[str, Any]) -> dict[str, Any]:
    """What stands beside the source of a shape's winner."""
    return {"params": trial.proposal.params, "flags": trial.artifact.flags, **result}


def summarise(
    where: str, facts: Mapping[str, Any], trials: Sequence[AnyTrial], confirmed: Sequence[Confirmation],
    calibration: Calibration, win_floor: float,
) -> AnyResult:  # fmt: skip
    """The confirmed trial with the best lower bound, or why there is none. `facts`: task, dims, dtype and threads."""
    held = [c for c in confirmed if c.timing is not None]
    busy = next((c.busy for c in confirmed if c.busy), "")
    if not held and busy:
        reason = f"{where}: right, but nothing can be said of the speed: {busy}; {_HINT}"
        return Unpublished(**facts, status="busy", reason=reason, trial=None)
    if not held:
        why = _why_nothing(trials, confirmed)
        reason = f"{where}: no candidate passed: {why}"
        return Unpublished(**facts, status="nothing-verified", reason=reason, trial=None)
    best = max(held, key=lambda c: (c.win, c.timing.speedup_low if c.timing else 0.0))
    timing, verdict = best.timing, best.verdict
    assert timing is not None
    assert isinstance(verdict, Passed)
    status, reason = _status(where, best, timing, calibration, win_floor)
    return Published(
        **facts, status=status, reason=reason, trial=best.trial, win=best.win, baseline=timing.baseline,
        **{name: getattr(timing, name) for name in FIGURES},
        max_abs_err=verdict.max_abs_err, max_ulp=verdict.max_ulp,
    )  # fmt: skip


def _status(
    where: str, best: Confirmation, timing: Timing, calibration: Calibration, win_floor: float
) -> tuple[Status, str]:
    figure = f"{timing.speedup:.3f}x of {timing.baseline} [{timing.speedup_low:.3f}, {timing.speedup_high:.3f}]"
    if best.win:
        return "better", f"{where}: trial {best.trial} beats the fastest baseline: {figure}"
    why = why_no_win(timing, calibration, win_floor)
    if too_busy(timing, calibration):
        seen = f"trial {best.trial} is right, and was seen at {figure}; {why}"
        return "busy", f"{where}: the machine was too busy to tell how fast it is: {seen}; {_HINT}"
    return "nothing-better", f"{where}: trial {best.trial} does not beat the fastest baseline: {figure}; {why}"


def _why_nothing(trials: Sequence[AnyTrial], confirmed: Sequence[Confirmation]) -> str:
    """The last refusal speaks for the others."""
    if confirmed and isinstance(confirmed[-1].verdict, Rejected):
        return f"{confirmed[-1].verdict.cause}: {confirmed[-1].verdict.reason}"
    for trial in reversed(trials):
        if isinstance(trial, RejectedTrial):
            return f"{trial.verdict.cause}: {trial.verdict.reason}"
        if isinstance(trial, FailedTrial):
            return f"{trial.status}: {trial.reason}"
    return "nothing was tried"
