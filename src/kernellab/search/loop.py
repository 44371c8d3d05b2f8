"""The whole loop: propose, build, verify, measure, record; then confirm the best and say what came of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

from kernellab.build.base import NotBuilt
from kernellab.core.events import Event
from kernellab.core.records import (
    Confirmation,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Proposal,
    Rejected,
    RejectedTrial,
)
from kernellab.core.ids import sha256_hex
from kernellab.propose.base import Idea, Proposer
from kernellab.search.archive import AnyTrial
from kernellab.search.lab import Budget, Lab
from kernellab.search.stage import Stage, win_threshold

Status = Literal["better", "nothing-better", "nothing-verified"]


def search_shape(lab: Lab, stage: Stage, proposer: Proposer, budget: Budget) -> Result:
    """Spend the budget on one shape, then confirm. Trials already recorded (a resumed run) count."""
    done = lab.archive.of(stage.task.name, stage.dims)
    for trial in done:
        proposer.learn(_idea_of(trial), score(lab, trial))
    count = len(done)
    while budget.left(count):
        idea = proposer.propose()
        if idea is None:
            lab.emit(Event("note", "every combination has been tried"))
            break
        trial = step(lab, stage, idea)
        proposer.learn(idea, score(lab, trial))
        count += 1
    return conclude(lab, stage)


def step(lab: Lab, stage: Stage, idea: Idea) -> AnyTrial:
    """One trial, from idea to committed record. A candidate that fails anywhere is data."""
    started = time.perf_counter()
    seed = stage.table.seed.hex()
    built = lab.builder.build(stage.task, idea.candidate, idea.params, stage.shapes)
    common: dict[str, Any] = _common(lab, stage, idea)
    if isinstance(built, NotBuilt):
        lab.keep(idea.candidate, None)
        wall = time.perf_counter() - started
        return lab.record(FailedTrial(**common, status=built.status, reason=built.reason, log=built.log[:4000], wall_s=wall))
    lab.keep(idea.candidate, built)
    common["artifact"] = built.artifact
    twin = lab.archive.twin(stage.task.name, stage.dims, built.artifact.id)
    if twin is not None:
        return lab.record(DuplicateTrial(**common, of=twin.trial, wall_s=time.perf_counter() - started))
    verdict = stage.verify(built)
    outcome = verdict if isinstance(verdict, Rejected) else stage.measure(
        built, lab.archive.incumbent(stage.task.name, stage.dims))  # fmt: skip
    common |= {"inputs_seed": seed, "wall_s": time.perf_counter() - started}
    if isinstance(outcome, Rejected):
        return lab.record(RejectedTrial(**common, verdict=outcome))
    assert not isinstance(verdict, Rejected)
    return lab.record(MeasuredTrial(**common, trust="native", verdict=verdict, timing=outcome))


def conclude(lab: Lab, stage: Stage) -> Result:
    """Confirm the most promising trials, best first, until one holds; record the result."""
    task, dims = stage.task.name, stage.dims
    contenders = lab.archive.measured(task, dims)
    known = {c.trial: c for c in lab.archive.confirmed(task, dims)}
    threshold = win_threshold(lab.settings.win_floor, stage.calibration["noise_floor"])
    last: Confirmation | None = None
    for trial in contenders[: lab.settings.profile.confirmations]:
        last = known.get(trial.trial) or _confirm(lab, stage, trial, threshold)
        if last.win:
            break
    result = _result(lab, stage, contenders, last)
    lab.append("result", result.data)
    lab.emit(Event("result", result.reason, result.data))
    return result


@dataclass(frozen=True)
class Result:
    """What a shape's search came to; `data` is what the ledger and --json carry."""

    status: Status
    reason: str
    data: dict[str, Any]


def score(lab: Lab, trial: AnyTrial) -> float | None:
    """A trial's speed-up, its twin's for a duplicate, None for what was never measured."""
    if isinstance(trial, DuplicateTrial):
        trial = lab.archive.trials[trial.of]
    return trial.timing.speedup if isinstance(trial, MeasuredTrial) else None


def _confirm(lab: Lab, stage: Stage, trial: MeasuredTrial, threshold: float) -> Confirmation:
    lab.emit(Event("confirming", f"confirming trial {trial.trial} in a fresh process on fresh inputs", {"trial": trial.trial}))
    idea = _idea_of(trial, lab)
    built = lab.builder.build(stage.task, idea.candidate, idea.params, stage.shapes)
    if isinstance(built, NotBuilt) or built.artifact.id != trial.artifact.id:
        why = built.reason if isinstance(built, NotBuilt) else "the build gave other machine code than before"
        verdict, timing, seed = Rejected(cause="plan", reason=why), None, ""
    else:
        verdict, timing, seed = stage.confirm(built)  # type: ignore[assignment]
    win = timing is not None and timing.speedup_low > threshold
    confirmation = lab.confirm(Confirmation(trial=trial.trial, task=trial.task, dims=trial.dims, verdict=verdict,
                                            timing=timing, win=win, inputs_seed=seed))  # fmt: skip
    lab.emit(Event("confirmation", "", {"confirmation": confirmation, "threshold": threshold}))
    return confirmation


def _result(lab: Lab, stage: Stage, contenders: list[MeasuredTrial], last: Confirmation | None) -> Result:
    where = stage.label()
    data: dict[str, Any] = {"task": stage.task.name, "dims": stage.dims, "threads": lab.settings.threads, "trial": None}
    if last is None or (last.timing is None and len(contenders) <= lab.settings.profile.confirmations):
        rejected = [t for t in lab.archive.of(stage.task.name, stage.dims) if isinstance(t, RejectedTrial)]
        failed = [t for t in lab.archive.of(stage.task.name, stage.dims) if isinstance(t, FailedTrial)]
        why = last.verdict.reason if last and isinstance(last.verdict, Rejected) else (
            f"{rejected[-1].verdict.cause}: {rejected[-1].verdict.reason}" if rejected else failed[-1].reason if failed else "no trial")  # fmt: skip
        return Result("nothing-verified", f"{where}: no candidate passed; the last: {why}", {**data, "status": "nothing-verified", "reason": why})
    timing = last.timing
    data |= {"trial": last.trial, "win": last.win, "baseline": stage.baseline}
    if timing is not None:
        data |= {k: getattr(timing, k) for k in ("speedup", "speedup_low", "speedup_high", "latency_s", "gb_per_s",
                                                 "of_floor", "of_memory_floor")}  # fmt: skip
    if not isinstance(last.verdict, Rejected):
        data |= {"max_abs_err": last.verdict.max_abs_err, "max_ulp": last.verdict.max_ulp}
    status: Status = "better" if last.win else "nothing-better"
    figure = "" if timing is None else f"{timing.speedup:.3f}x of {stage.baseline} [{timing.speedup_low:.3f}, {timing.speedup_high:.3f}]"
    reason = f"{where}: trial {last.trial} {'beats' if last.win else 'does not beat'} the fastest baseline: {figure or last.verdict.reason}"  # type: ignore[union-attr]
    return Result(status, reason, {**data, "status": status, "reason": reason})


def _common(lab: Lab, stage: Stage, idea: Idea) -> dict[str, Any]:
    source = sha256_hex(idea.candidate.text.encode())
    proposal = Proposal(source=source, name=idea.candidate.name, params=idea.params, why=idea.why, origin=idea.origin)
    return {
        "trial": len(lab.archive.trials), "task": stage.task.name, "dims": stage.dims, "proposal": proposal,
        "tier": lab.tier, "seed": lab.settings.seed, "device": lab.environment["device"],
        "environment": lab.environment["digest"],
    }  # fmt: skip


def _idea_of(trial: AnyTrial, lab: Lab | None = None) -> Idea:
    from kernellab.build.base import Candidate

    text = lab.store.get(trial.proposal.source).decode() if lab and lab.store else ""
    return Idea(Candidate(text, trial.proposal.name), dict(trial.proposal.params), trial.proposal.why, trial.proposal.origin)
