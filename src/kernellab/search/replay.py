"""Doing it again: rebuild and re-judge a trial from its record alone, or measure trials anew for an audit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from kernellab.build.base import Candidate
from kernellab.core.events import Event, Listener, silent
from kernellab.core.records import BusyTrial, DuplicateTrial, FailedTrial, MeasuredTrial, RejectedTrial
from kernellab.core.settings import Settings
from kernellab.evaluate.one_artifact import same_parts
from kernellab.evaluate.open_task import OpenTask
from kernellab.evaluate.request import Clocking, Judging
from kernellab.evaluate.stage import Stage
from kernellab.ledger import kinds
from kernellab.ledger.check import require_sound
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.search.archive import AnyTrial
from kernellab.search.experiment_run import task_of
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import dims_label

_APART = 1.15
_KEPT = {"effort", "device", "target", "threads", "sample_s", "build_timeout_s"}


def read_trials(folder: Path) -> list[AnyTrial]:
    return Run(folder).trials


def replay_trial(folder: Path, number: int, emit: Listener = silent) -> dict[str, Any]:
    """Rebuild, compare the machine code, judge on the recorded inputs and measure once more."""
    require_sound(folder)
    trial = Run(folder).trial(number)
    with _open(folder, emit, trial.task) as opened:
        stage = opened.stage(trial.dims)
        try:
            return {
                "run": str(folder),
                "trial": number,
                "tier": opened.tier,
                "trust": opened.trust,
                **_again(opened, stage, trial, Store(folder)),
            }
        finally:
            stage.close()


def rerun(folder: Path, count: int, emit: Listener = silent) -> list[dict[str, Any]]:
    """Measure `count` of a run's trials again: published ones first, then some at random."""
    run = Run(folder)
    trials = [t for t in run.trials if isinstance(t, MeasuredTrial)]
    published = {result.trial for result in run.records(kinds.RESULT)}
    random.Random(0).shuffle(trials)
    chosen = sorted(trials, key=lambda t: t.trial not in published)[:count]
    rows = []
    for name in dict.fromkeys(t.task for t in chosen):
        with _open(folder, emit, name) as opened:
            rows += _measure_again(opened, folder, [t for t in chosen if t.task == name])
    return rows


def _measure_again(opened: OpenTask, folder: Path, trials: list[MeasuredTrial]) -> list[dict[str, Any]]:
    rows = []
    for label in dict.fromkeys(dims_label(t.dims) for t in trials):
        here = [t for t in trials if dims_label(t.dims) == label]
        stage = opened.stage(here[0].dims)
        try:
            for trial in here:
                opened.emit(Event("note", f"measuring trial {trial.trial} again"))
                rows.append({"trial": trial.trial, **_again(opened, stage, trial, Store(folder))})
        finally:
            stage.close()
    return rows


def _open(folder: Path, emit: Listener, name: str) -> OpenTask:
    """For the run's own task, or for another built-in one that its record names (a study may have several)."""
    run = Run(folder)
    task, locator = task_of(folder)
    if task.name != name:
        task, locator = load_task(name), name
    settings = Settings(**run.genesis.settings.model_dump(include=_KEPT))
    return OpenTask(settings, task, locator, emit, _with_torch(run))


def _with_torch(run: Run) -> bool:
    """Whether torch's own baselines were asked then: a ratio over another baseline is another figure."""
    names = (name for c in run.calibrations for name in (*c.baselines, *c.failed))
    return any(n.startswith("torch") and n != "torch.eager" for n in names)


def _again(opened: OpenTask, stage: Stage, trial: AnyTrial, store: Store) -> dict[str, Any]:
    """Status and reason as recorded and as found now, and whether they agree."""
    row: dict[str, Any] = {
        "dims": trial.dims,
        "name": trial.proposal.name,
        "params": trial.proposal.params,
        "recorded": trial.status,
    }
    candidate = Candidate(store.get(trial.proposal.source).decode(), trial.proposal.name)
    seed = trial.inputs_seed if isinstance(trial, (MeasuredTrial, RejectedTrial, BusyTrial)) else bytes(32).hex()
    asked = {"judging": Judging(inputs_seed=seed), "clocking": Clocking(how="race")}
    found = opened.evaluate(opened.request(stage.dims, candidate, trial.proposal.params, **asked))
    if found.artifact is None:
        return {**row, "status": found.status, "reason": found.reason, "agrees": isinstance(trial, FailedTrial)}
    row["same_machine_code"] = not isinstance(trial, FailedTrial) and same_parts(trial.artifact, found.artifact)
    if found.rejected is not None:
        agrees = isinstance(trial, (RejectedTrial, DuplicateTrial))
        return {**row, "status": "rejected", "reason": f"{found.rejected.cause}: {found.reason}", "agrees": agrees}
    outcome = found.timing
    if outcome is None:  # right, as it was, or it would be no measured trial
        agrees = isinstance(trial, (MeasuredTrial, BusyTrial, DuplicateTrial))
        return {**row, "status": "busy", "reason": found.reason, "agrees": agrees}
    row |= {"status": "measured", "reason": "", "speedup": outcome.speedup, "speedup_low": outcome.speedup_low,
            "speedup_high": outcome.speedup_high, "baseline": outcome.baseline}  # fmt: skip
    if found.passed is not None:
        row |= {"max_abs_err": found.passed.max_abs_err, "max_ulp": found.passed.max_ulp}
    if isinstance(trial, MeasuredTrial):
        then = trial.timing
        apart = max(outcome.speedup / then.speedup, then.speedup / outcome.speedup)
        overlap = outcome.speedup_low <= then.speedup_high and then.speedup_low <= outcome.speedup_high
        return {**row, "then": then.speedup, "agrees": overlap or apart < _APART}
    return {**row, "agrees": isinstance(trial, (BusyTrial, DuplicateTrial))}
