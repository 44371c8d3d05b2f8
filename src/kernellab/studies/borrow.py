"""Comparing with another run: its best kernels are copied into this study's record, whole, and measured here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.records import MeasuredTrial
from kernellab.ledger.check import require_sound
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.propose.base import Idea
from kernellab.search.replay import read_trials
from kernellab.studies.design import Cell, StudyTask, key_of_trial
from kernellab.studies.evidence import A_SHAPE, Borrowed, Evidence
from kernellab.studies.hypothesis import Hypothesis
from kernellab.studies.registration import OtherRun
from kernellab.tasks.spec import dims_label, in_order


@dataclass(frozen=True)
class Loan:
    record: Borrowed
    candidate: Candidate


def described(folder: Path) -> OtherRun:
    found = require_sound(folder, signed=True)
    return OtherRun(run=found.run, root=found.root, device=Run(folder).start.environment.device)


def lend(folder: Path, study: str, study_tasks: Sequence[StudyTask]) -> list[Loan]:
    """The best kernels of another run at each shape of the population, by the lower bound of their speed-up."""
    found, store = require_sound(folder, signed=True), Store(folder)
    trials = [t for t in read_trials(folder) if isinstance(t, MeasuredTrial) and not t.timing.disturbed]
    chosen: dict[int, MeasuredTrial] = {}
    for study_task in study_tasks:
        for dims in study_task.shapes:
            here = [t for t in trials if t.task == study_task.task.name and t.dims == dims]
            best = sorted(here, key=lambda t: -t.timing.speedup_low)[:A_SHAPE]
            chosen |= {t.trial: t for t in best}
    if not chosen:
        wanted = "; ".join(f"{w.task.name} {', '.join(dims_label(d) for d in w.shapes)}" for w in study_tasks)
        raise UsageError(f"{folder} has no measured trial at a shape of this hypothesis", f"it asks for {wanted}")
    return [
        Loan(
            Borrowed(study=study, run=found.run, root=found.root, trial=t),
            Candidate(store.get(t.proposal.source).decode(), t.proposal.name),
        )
        for t in chosen.values()
    ]


def refuse_repeated(others: Sequence[Path]) -> None:
    """A run that is given twice, under whatever path, would be two witnesses with one voice."""
    known: dict[str, Path] = {}
    for folder in others:
        run = require_sound(folder, signed=True).run
        if run in known:
            raise UsageError(f"{folder} is given twice: it is run {run}, as {known[run]} is", "give each run once")
        known[run] = folder


def refuse_same_device(others: Sequence[Path], device: str) -> None:
    """Nothing can be learned of another device from this one; with no other run at all the statistic itself says so."""
    for folder in others:
        if described(folder).device == device:
            raise UsageError(
                f"{folder} was measured on this same device ({device})",
                "give a run of another one, or build for another --target here",
            )


def borrowed_cells(evidence: Evidence, study_task: StudyTask, hypothesis: Hypothesis, device: str) -> list[Cell]:
    """What to measure here: the kernels of this task that were borrowed from another device."""
    groups: dict[str, list[MeasuredTrial]] = {}
    for trial in (b.trial for b in evidence.borrowed):
        if trial.task == study_task.task.name and trial.device != device:
            groups.setdefault(dims_label(in_order(trial.dims, study_task.task)), []).append(trial)
    cells = []
    for trials in groups.values():
        once = {key_of_trial(t, seed=0): t for t in trials}
        ideas = tuple(_idea(t, evidence, hypothesis) for t in once.values())
        cells += [Cell(in_order(trials[0].dims, study_task.task), seed, ideas) for seed in hypothesis.seeds]
    return cells


def _idea(trial: MeasuredTrial, evidence: Evidence, hypothesis: Hypothesis) -> Idea:
    why = f"hypothesis {hypothesis.id}: trial {trial.trial} of another device ({trial.device})"
    candidate = Candidate(evidence.read(trial.proposal.source), trial.proposal.name)
    return Idea(candidate, dict(trial.proposal.params), why, "replay")
