"""The whole loop: propose, build, verify, measure, record; then confirm the best and say what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kernellab.build.base import Built, NotBuilt
from kernellab.core.events import Event
from kernellab.core.ids import sha256_hex
from kernellab.core.records import (
    Confirmation,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Proposal,
    Rejected,
    RejectedTrial,
    UntimedTrial,
)
from kernellab.evaluate.evaluator import evidence_of
from kernellab.evaluate.request import Clocking, TrialRecord
from kernellab.evaluate.stage import Stage
from kernellab.ledger import kinds
from kernellab.ledger.records import AnyResult
from kernellab.measurement.winning import why_no_win, win_threshold, wins
from kernellab.propose.base import Idea, Proposer
from kernellab.search.ahead import Ahead
from kernellab.search.archive import AnyTrial
from kernellab.search.early_build import EarlyBuild, confirmation_request
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.result import plain, summarise


@dataclass
class Budget:
    """Trials and seconds for one shape (zero seconds: no limit), and whether the run's GPU time is spent."""

    trials: int
    seconds: float
    started: float = field(default_factory=time.monotonic)
    spent: Callable[[], bool] = lambda: False

    def left(self, done: int) -> bool:
        in_time = not self.seconds or time.monotonic() - self.started < self.seconds
        return done < self.trials and in_time and not self.spent()


def search_shape(
    run: ExperimentRun, stage: Stage, proposer: Proposer, budget: Budget, in_order: bool = False
) -> AnyResult:
    """Spend the budget on one shape, then confirm. Trials already recorded (a resumed run) count.

    `in_order`: trials follow the order of the proposals, also where builds run ahead.
    """
    done = run.archive.of(stage.task.name, stage.dims)
    proposer.tell([run.outcome(trial) for trial in done])
    count = len(done)
    jobs = run.opened.device.build_jobs
    early = EarlyBuild(run, stage)
    with early, Ahead(proposer, partial(build, run, stage), jobs, in_order, early.go_on) as ahead:
        while budget.left(count):
            run.emit(Event("doing", "choosing and building the next kernel"))
            found = ahead.next(budget.trials - count)
            if found is None:
                run.emit(Event("note", "there is nothing left to try"))
                break
            idea, _ = found
            proposer.tell([run.outcome(step(run, stage, idea), idea)])
            count += 1
        early.settle()
    return conclude(run, stage)


def build(run: ExperimentRun, stage: Stage, idea: Idea) -> Built | NotBuilt:
    """Build an idea ahead of its trial; its evidence is kept at once, by whoever builds."""
    built = run.opened.build(stage.dims, idea.candidate, idea.params)
    if isinstance(built, Built):
        run.keep(*evidence_of(built).values())
    return built


def step(run: ExperimentRun, stage: Stage, idea: Idea) -> AnyTrial:
    """One trial, from idea to committed record. A candidate that fails anywhere is data."""
    task, dims = stage.task.name, stage.dims
    known = run.archive.known(task, dims)
    race = Clocking(how="race", incumbent=run.archive.incumbent(task, dims))
    found = run.evaluate(run.opened.request(dims, idea.candidate, idea.params, known=tuple(known), clocking=race))
    return run.record(_trial(_common(run, stage, idea, found), found, known))


def _trial(common: dict[str, Any], found: TrialRecord, known: Mapping[str, int]) -> AnyTrial:
    """The run's own record of what an evaluator found."""
    if found.status in ("invalid", "build-failed"):
        return FailedTrial(**common, status=found.status, reason=found.reason, log=found.log)
    common |= {"artifact": found.artifact, "inputs_seed": found.inputs_seed}
    if found.status == "duplicate" and found.artifact is not None:
        del common["inputs_seed"]
        return DuplicateTrial(**common, of=known[found.artifact.id])
    common["verdict"] = found.verdict
    if found.status == "rejected":
        return RejectedTrial(**common)
    if found.timing is None:
        return UntimedTrial(**common, reason=found.reason)
    return MeasuredTrial(**common, trust=found.trust, timing=found.timing)


def conclude(run: ExperimentRun, stage: Stage) -> AnyResult:
    """Confirm the most promising trials, best first, until one holds; record the result."""
    task, dims = stage.task.name, stage.dims
    known = {c.trial: c for c in run.archive.confirmed(task, dims)}
    threshold = win_threshold(run.settings.win_floor, stage.calibration.noise_floor)
    confirmed: list[Confirmation] = []
    coming = list(run.archive.to_confirm(task, dims, run.settings.profile.confirmations, threshold))
    while coming:
        trial = coming.pop(0)
        confirmed.append(known.get(trial.trial) or _confirm(run, stage, trial))
        timing = confirmed[-1].timing
        if confirmed[-1].win or confirmed[-1].busy or (timing is not None and timing.disturbed):
            break  # while others use the machine, the next one would fare no better
        if not coming and all(isinstance(c.verdict, Rejected) for c in confirmed):
            coming = run.archive.instead(task, dims, [c.trial for c in confirmed])
    facts = {"task": task, "dims": dims, "dtype": stage.task.outputs[0].dtype, "threads": run.opened.device.rig.threads}
    result = summarise(stage.label(), facts, run.archive.of(task, dims), confirmed, stage.calibration,
                       run.settings.win_floor)  # fmt: skip
    run.append(kinds.RESULT, result)
    run.emit(Event("result", result.reason, plain(result)))
    return result


def _confirm(run: ExperimentRun, stage: Stage, trial: MeasuredTrial | UntimedTrial) -> Confirmation:
    text = f"confirming trial {trial.trial} in fresh processes on fresh inputs"
    run.opened.wait_for_quiet()
    run.emit(Event("confirming", text, {"trial": trial.trial}))
    found = run.evaluate(confirmation_request(run, stage, trial))
    run.keep_listing(found)
    verdict = found.verdict or Rejected(cause="plan", reason=_why_unbuilt(found, stage))
    confirmation = Confirmation(
        trial=trial.trial,
        task=trial.task,
        dims=trial.dims,
        verdict=verdict,
        timing=found.timing,
        win=found.timing is not None and wins(found.timing, stage.calibration, run.settings.win_floor),
        inputs_seed=found.inputs_seed,
        busy=found.reason if found.status == "busy" else "",
        artifact=found.artifact,
    )
    run.confirm(confirmation)
    why = why_no_win(found.timing, stage.calibration, run.settings.win_floor) if found.timing is not None else ""
    run.emit(Event("confirmation", "", {"confirmation": confirmation, "why": why}))
    return confirmation


def _why_unbuilt(found: TrialRecord, stage: Stage) -> str:
    """The candidate's own words only where they cannot tell of a shape that is kept back."""
    if found.failed_at is None or found.failed_at in stage.shapes:
        return found.reason
    return f"{found.status} at a shape that is kept back, though not at the tuned and the edge shapes"


def _common(run: ExperimentRun, stage: Stage, idea: Idea, found: TrialRecord) -> dict[str, Any]:
    source = sha256_hex(idea.candidate.text.encode())
    proposal = Proposal(source=source, name=idea.candidate.name, params=idea.params, why=idea.why, origin=idea.origin)
    return {
        "trial": len(run.archive.trials),
        "task": stage.task.name,
        "dims": stage.dims,
        "proposal": proposal,
        "tier": found.tier,
        "seed": run.seed,
        "device": found.device,
        "environment": found.environment,
        "wall_s": found.wall_s,
    }
