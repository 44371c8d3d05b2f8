"""Doing it again: rebuild and re-judge a trial from its record alone, or measure trials anew for an audit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Literal

from kernellab.build.base import Candidate
from kernellab.core.events import Event, Listener, silent
from kernellab.core.records import DuplicateTrial, FailedTrial, MeasuredTrial, RejectedTrial, UntimedTrial
from kernellab.core.settings import Settings
from kernellab.evaluate.one_artifact import same_parts
from kernellab.evaluate.open_task import OpenTask
from kernellab.evaluate.request import Clocking, Judging, TrialRecord
from kernellab.ledger import kinds
from kernellab.ledger.check import require_sound
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.search.archive import AnyTrial
from kernellab.search.experiment_run import task_of
from kernellab.search.verify import PURPOSE as VERIFY
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import dims_label

_APART = 1.15
_KEPT = {"effort", "device", "target", "threads", "sample_s", "build_timeout_s"}


def read_trials(folder: Path) -> list[AnyTrial]:
    return Run(folder).trials


def replay_trial(folder: Path, number: int, emit: Listener = silent) -> dict[str, Any]:
    """Rebuild, compare the machine code, judge on the recorded inputs; measure once more what was measured then."""
    require_sound(folder)
    run = Run(folder)
    trial = run.trial(number)
    with _open(run, emit, trial) as opened:
        if _was_timed(trial):
            opened.stage(trial.dims)  # says what it measured, and stays open for the trial
        again = _again(opened, trial, Store(folder), _level(run, trial))
        return {"run": str(folder), "trial": number, "tier": opened.tier, "trust": opened.trust, **again}


def _level(run: Run, trial: AnyTrial) -> Literal["screen", "full"]:
    """As it was judged then."""
    call = run.calls.get(trial.trial)
    return "full" if run.purpose == VERIFY or (call is not None and call.tool == "verify") else "screen"


def _was_timed(trial: AnyTrial) -> bool:
    """Whether its outcome rests on a clock; what could not be built or was judged wrong is found so again without one."""
    busy = isinstance(trial, UntimedTrial) and trial.status == "busy"
    return busy or isinstance(trial, (MeasuredTrial, DuplicateTrial))


def rerun(folder: Path, count: int, emit: Listener = silent) -> list[dict[str, Any]]:
    """Measure `count` of a run's trials again: published ones first, then some at random."""
    run = Run(folder)
    trials = [t for t in run.trials if isinstance(t, MeasuredTrial)]
    published = {result.trial for result in run.records(kinds.RESULT)}
    random.Random(0).shuffle(trials)
    chosen = sorted(trials, key=lambda t: t.trial not in published)[:count]
    rows = []
    alike: dict[str, list[MeasuredTrial]] = {}
    for trial in chosen:
        part = run.part_of(trial.trial)
        alike.setdefault(f"{trial.task} {part.settings if part else ''}", []).append(trial)
    for same in alike.values():
        with _open(run, emit, same[0]) as opened:
            rows += _measure_again(opened, folder, same)
    return rows


def _measure_again(opened: OpenTask, folder: Path, trials: list[MeasuredTrial]) -> list[dict[str, Any]]:
    rows = []
    for label in dict.fromkeys(dims_label(t.dims) for t in trials):
        here = [t for t in trials if dims_label(t.dims) == label]
        stage = opened.stage(here[0].dims)
        try:
            for trial in here:
                opened.emit(Event("note", f"measuring trial {trial.trial} again"))
                rows.append({"trial": trial.trial, **_again(opened, trial, Store(folder))})
        finally:
            stage.close()
    return rows


def _open(run: Run, emit: Listener, trial: AnyTrial) -> OpenTask:
    """For the trial's task: the run's own, one that a session went on to, or another built-in one that the record names (a
    study may have several)."""
    task, locator = task_of(run.folder, trial.trial)
    if task.name != trial.task:
        task, locator = load_task(trial.task), trial.task
    settings = Settings(**run.asked_for(trial.trial).settings.model_dump(include=_KEPT))
    return OpenTask(settings, task, locator, emit, _with_torch(run))


def _with_torch(run: Run) -> bool:
    """Whether torch's own baselines were asked then: a ratio over another baseline is another figure."""
    names = (name for c in run.calibrations for name in (*c.baselines, *c.failed))
    return any(n.startswith("torch") and n != "torch.eager" for n in names)


def _found_again(
    opened: OpenTask, trial: AnyTrial, candidate: Candidate, level: Literal["screen", "full"]
) -> TrialRecord:
    """Timed if it was then, or if it was refused and is right without a clock: timed calls may have been what was wrong."""
    seed = trial.inputs_seed if isinstance(trial, (MeasuredTrial, RejectedTrial, UntimedTrial)) else bytes(32).hex()
    judging = Judging(level=level, inputs_seed=seed)
    request = opened.request(trial.dims, candidate, trial.proposal.params, judging=judging)
    timed = request.model_copy(update={"clocking": Clocking(how="race")})
    if _was_timed(trial):
        return opened.evaluate(timed)
    found = opened.evaluate(request)
    in_timed_calls = isinstance(trial, RejectedTrial) and found.status == "passed" and level == "screen"
    return opened.evaluate(timed) if in_timed_calls else found


def _again(
    opened: OpenTask, trial: AnyTrial, store: Store, level: Literal["screen", "full"] = "screen"
) -> dict[str, Any]:
    """Status and reason as recorded and as found now, and whether they agree."""
    row: dict[str, Any] = {
        "dims": trial.dims,
        "name": trial.proposal.name,
        "params": trial.proposal.params,
        "recorded": trial.status,
    }
    candidate = Candidate(store.get(trial.proposal.source).decode(), trial.proposal.name)
    found = _found_again(opened, trial, candidate, level)
    if found.artifact is None:
        return {**row, "status": found.status, "reason": found.reason, "agrees": isinstance(trial, FailedTrial)}
    row["same_machine_code"] = not isinstance(trial, FailedTrial) and same_parts(trial.artifact, found.artifact)
    if found.rejected is not None:
        agrees = isinstance(trial, (RejectedTrial, DuplicateTrial))
        return {**row, "status": "rejected", "reason": f"{found.rejected.cause}: {found.reason}", "agrees": agrees}
    outcome = found.timing
    if outcome is None and found.status == "passed":
        verified = isinstance(trial, UntimedTrial) and trial.status == "verified"
        return {**row, "status": "verified", "reason": "", "agrees": verified, **_errors(found)}
    if outcome is None:  # right, as it was, or it would be no measured trial
        agrees = isinstance(trial, (MeasuredTrial, UntimedTrial, DuplicateTrial))
        return {**row, "status": "busy", "reason": found.reason, "agrees": agrees}
    row |= {"status": "measured", "reason": "", "speedup": outcome.speedup, "speedup_low": outcome.speedup_low,
            "speedup_high": outcome.speedup_high, "baseline": outcome.baseline}  # fmt: skip
    row |= _errors(found)
    if isinstance(trial, MeasuredTrial):
        then = trial.timing
        apart = max(outcome.speedup / then.speedup, then.speedup / outcome.speedup)
        overlap = outcome.speedup_low <= then.speedup_high and then.speedup_low <= outcome.speedup_high
        return {**row, "then": then.speedup, "agrees": overlap or apart < _APART}
    return {**row, "agrees": isinstance(trial, (UntimedTrial, DuplicateTrial))}


def _errors(found: TrialRecord) -> dict[str, float]:
    return (
        {"max_abs_err": found.passed.max_abs_err, "max_ulp": found.passed.max_ulp} if found.passed is not None else {}
    )
