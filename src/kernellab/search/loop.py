"""The whole loop: propose, build, verify, measure, record; then confirm the best and say what came of it."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from kernellab.build.base import Built, Candidate, NotBuilt
from kernellab.core.events import Event
from kernellab.core.ids import sha256_hex
from kernellab.core.records import (
    BusyTrial,
    Confirmation,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Passed,
    Proposal,
    Rejected,
    RejectedTrial,
    Timing,
)
from kernellab.ledger import kinds
from kernellab.ledger.records import AnyResult
from kernellab.measure.bench import Busy
from kernellab.measure.winning import win_threshold, wins
from kernellab.propose.base import Idea, Proposer
from kernellab.search.ahead import Ahead
from kernellab.search.archive import AnyTrial
from kernellab.search.lab import Budget, Lab
from kernellab.search.one_artifact import same_parts
from kernellab.search.result import plain, summarise
from kernellab.search.stage import Stage


def search_shape(lab: Lab, stage: Stage, proposer: Proposer, budget: Budget, in_order: bool = False) -> AnyResult:
    """Spend the budget on one shape, then confirm. Trials already recorded (a resumed run) count.

    `in_order`: trials follow the order of the proposals, also where builds run ahead.
    """
    done = lab.archive.of(stage.task.name, stage.dims)
    for trial in done:
        proposer.learn(_idea_of(trial), score(lab, trial), trial)
    count = len(done)
    with Ahead(proposer, partial(_build, lab, stage), lab.workshop.build_jobs, in_order) as ahead:
        while budget.left(count):
            found = ahead.next(budget.trials - count)
            if found is None:
                lab.emit(Event("note", "there is nothing left to try"))
                break
            idea, built = found
            trial = step(lab, stage, idea, built)
            proposer.learn(idea, score(lab, trial), trial)
            count += 1
    return conclude(lab, stage)


def _build(lab: Lab, stage: Stage, idea: Idea) -> Built | NotBuilt:
    return lab.builder.build(stage.task, idea.candidate, idea.params, stage.shapes)


def step(lab: Lab, stage: Stage, idea: Idea, built: Built | NotBuilt) -> AnyTrial:
    """One trial, from built idea to committed record. A candidate that fails anywhere is data."""
    started = time.perf_counter()
    seed = stage.table.seed.hex()
    common: dict[str, Any] = _common(lab, stage, idea)
    if isinstance(built, NotBuilt):
        lab.keep(idea.candidate, None)
        wall = time.perf_counter() - started
        return lab.record(
            FailedTrial(**common, status=built.status, reason=built.reason, log=built.log[:4000], wall_s=wall)
        )
    lab.keep(idea.candidate, built)
    common["artifact"] = built.artifact
    twin = lab.archive.twin(stage.task.name, stage.dims, built.artifact.id)
    if twin is not None:
        return lab.record(DuplicateTrial(**common, of=twin.trial, wall_s=time.perf_counter() - started))
    verdict = stage.verify(built)
    outcome = (
        verdict
        if isinstance(verdict, Rejected)
        else stage.measure(built, lab.archive.incumbent(stage.task.name, stage.dims))
    )
    common |= {"inputs_seed": seed, "wall_s": time.perf_counter() - started}
    if isinstance(outcome, Rejected):
        return lab.record(RejectedTrial(**common, verdict=outcome))
    assert not isinstance(verdict, Rejected)
    if isinstance(outcome, Busy):
        return lab.record(BusyTrial(**common, verdict=verdict, reason=outcome.reason))
    return lab.record(MeasuredTrial(**common, trust=lab.trust, verdict=verdict, timing=outcome))


def conclude(lab: Lab, stage: Stage) -> AnyResult:
    """Confirm the most promising trials, best first, until one holds; record the result."""
    task, dims = stage.task.name, stage.dims
    known = {c.trial: c for c in lab.archive.confirmed(task, dims)}
    threshold = win_threshold(lab.settings.win_floor, stage.calibration.noise_floor)
    confirmed: list[Confirmation] = []
    for trial in lab.archive.promising(task, dims)[: lab.settings.profile.confirmations]:
        if confirmed and isinstance(trial, MeasuredTrial) and trial.timing.speedup_high <= threshold:
            break  # by its own figures it is no win, and those below it are slower
        confirmed.append(known.get(trial.trial) or _confirm(lab, stage, trial, threshold))
        timing = confirmed[-1].timing
        if confirmed[-1].win or confirmed[-1].busy or (timing is not None and timing.disturbed):
            break  # while others use the machine, the next one would fare no better
    facts = {"task": task, "dims": dims, "dtype": stage.task.outputs[0].dtype, "threads": lab.workshop.rig.threads}
    result = summarise(stage.label(), facts, lab.archive.of(task, dims), confirmed, stage.calibration)
    lab.append(kinds.RESULT, result)
    lab.emit(Event("result", result.reason, plain(result)))
    return result


def score(lab: Lab, trial: AnyTrial) -> float | None:
    """The lower bound of a trial's speed-up, its twin's for a duplicate, None for what was never measured."""
    if isinstance(trial, DuplicateTrial):
        trial = lab.archive.trials[trial.of]
    return trial.timing.speedup_low if isinstance(trial, MeasuredTrial) else None


def _confirm(lab: Lab, stage: Stage, trial: MeasuredTrial | BusyTrial, threshold: float) -> Confirmation:
    text = f"confirming trial {trial.trial} in fresh processes on fresh inputs"
    lab.wait_for_quiet()
    lab.emit(Event("confirming", text, {"trial": trial.trial}))
    idea = _idea_of(trial, lab)
    built = lab.builder.build(stage.task, idea.candidate, idea.params, stage.every_shape)
    verdict: Passed | Rejected
    timing: Timing | Busy | None = None
    seed = ""
    if isinstance(built, NotBuilt):
        verdict = Rejected(cause="plan", reason=_why_unbuilt(built, stage))
    else:
        lab.keep(idea.candidate, built)
        if not same_parts(trial.artifact, built.artifact):
            verdict = Rejected(cause="plan", reason="the build gave other machine code than before")
        else:
            lab.keep_listing(built)
            verdict, timing, seed = stage.confirm(built)
    figures = None if isinstance(timing, Busy) else timing
    confirmation = Confirmation(
        trial=trial.trial,
        task=trial.task,
        dims=trial.dims,
        verdict=verdict,
        timing=figures,
        win=figures is not None and wins(figures, stage.calibration, lab.settings.win_floor),
        inputs_seed=seed,
        busy=timing.reason if isinstance(timing, Busy) else "",
        artifact=None if isinstance(built, NotBuilt) else built.artifact,
    )
    lab.confirm(confirmation)
    lab.emit(Event("confirmation", "", {"confirmation": confirmation, "threshold": threshold}))
    return confirmation


def _why_unbuilt(built: NotBuilt, stage: Stage) -> str:
    """The candidate's own words only where they cannot tell of a shape that is kept back."""
    if built.dims is None or built.dims in stage.shapes:
        return built.reason
    return f"{built.status} at a shape that is kept back, though not at the tuned and the edge shapes"


def _common(lab: Lab, stage: Stage, idea: Idea) -> dict[str, Any]:
    source = sha256_hex(idea.candidate.text.encode())
    proposal = Proposal(source=source, name=idea.candidate.name, params=idea.params, why=idea.why, origin=idea.origin)
    return {
        "trial": len(lab.archive.trials),
        "task": stage.task.name,
        "dims": stage.dims,
        "proposal": proposal,
        "tier": lab.tier,
        "seed": lab.settings.seed,
        "device": lab.environment["device"],
        "environment": lab.environment["digest"],
    }


def _idea_of(trial: AnyTrial, lab: Lab | None = None) -> Idea:
    """The idea behind a recorded trial; with its text where the laboratory has a store."""
    proposal = trial.proposal
    text = lab.store.get(proposal.source).decode() if lab and lab.store else ""
    return Idea(Candidate(text, proposal.name), dict(proposal.params), proposal.why, proposal.origin)
