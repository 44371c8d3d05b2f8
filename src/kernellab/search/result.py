"""What a shape's search came to, in words and figures; nothing in it that is not in a confirmation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kernellab.core.records import Confirmation, FailedTrial, MeasuredTrial, Passed, Rejected, RejectedTrial
from kernellab.search.archive import AnyTrial
from kernellab.search.stage import too_busy

Status = Literal["better", "nothing-better", "nothing-verified"]
BEST = "best-"
FIGURES = ("speedup", "speedup_low", "speedup_high", "latency_s", "gb_per_s", "of_floor", "of_memory_floor")


@dataclass(frozen=True)
class Result:
    """`data` is what the ledger and --json carry."""

    status: Status
    reason: str
    data: dict[str, Any]


def best_name(dims: Mapping[str, int]) -> str:
    """How the files of a shape's winner are called, without their suffix."""
    return BEST + "-".join(f"{name}{value}" for name, value in dims.items())


def best_facts(trial: MeasuredTrial, result: Mapping[str, Any]) -> dict[str, Any]:
    """What stands beside the source of a shape's winner."""
    return {"params": trial.proposal.params, "flags": trial.artifact.flags, **result}


def summarise(
    where: str, threads: int, trials: Sequence[AnyTrial], confirmed: Sequence[Confirmation],
    calibration: Mapping[str, Any],
) -> Result:  # fmt: skip
    """The confirmed trial with the best lower bound, or why there is none."""
    held = [c for c in confirmed if c.timing is not None]
    if not held:
        why = _why_nothing(trials, confirmed)
        reason = f"{where}: no candidate passed: {why}"
        data = {"status": "nothing-verified", "reason": reason, "threads": threads, "trial": None}
        return Result("nothing-verified", reason, data)
    best = max(held, key=lambda c: (c.win, c.timing.speedup_low if c.timing else 0.0))
    timing, verdict = best.timing, best.verdict
    assert timing is not None
    assert isinstance(verdict, Passed)
    status: Status = "better" if best.win else "nothing-better"
    figure = f"{timing.speedup:.3f}x of {timing.baseline} [{timing.speedup_low:.3f}, {timing.speedup_high:.3f}]"
    word = "beats" if best.win else "does not beat"
    reason = f"{where}: trial {best.trial} {word} the fastest baseline: {figure}"
    if too_busy(timing, calibration):
        reason = f"{where}: nothing can be said of trial {best.trial}, the machine was too busy: {figure} as seen"
    figures = {name: getattr(timing, name) for name in FIGURES}
    accuracy = {"max_abs_err": verdict.max_abs_err, "max_ulp": verdict.max_ulp}
    facts = {"status": status, "reason": reason, "threads": threads, "trial": best.trial, "win": best.win}
    return Result(status, reason, {**facts, "baseline": timing.baseline, **figures, **accuracy})


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
