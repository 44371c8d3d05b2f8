"""Conducting a study: register the hypothesis, run its trials, let the rule speak. A study is a run folder like any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.events import Event, Listener, silent
from kernellab.core.ids import sha256_hex
from kernellab.core.records import AnyTrial, FailedTrial, dump
from kernellab.core.settings import Settings
from kernellab.core.targets import devices
from kernellab.evaluate.open_task import OpenTask
from kernellab.evaluate.request import Judging
from kernellab.ledger import kinds
from kernellab.ledger.check import check
from kernellab.ledger.records import End
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.propose.base import Idea, Listed
from kernellab.propose.recipe import Recipe, load_recipes
from kernellab.search.ahead import Ahead
from kernellab.search.archive import Archive
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.loop import build, step
from kernellab.studies.attempts import earlier_attempts, note_attempt
from kernellab.studies.borrow import borrowed_cells, described, lend, refuse_repeated, refuse_same_device
from kernellab.studies.design import (
    Cell,
    StudyTask,
    borrows,
    cells_of,
    inputs_of,
    key_of,
    key_of_trial,
    refuse_unknown,
    study_tasks_of,
)
from kernellab.studies.evidence import BORROWED, EXAMINATION, Examination
from kernellab.studies.hypothesis import Hypothesis
from kernellab.studies.judgement import VERDICT, StudyVerdict, judge
from kernellab.studies.library import read
from kernellab.studies.register import PURPOSE, read_study, refuse_changed
from kernellab.studies.registration import STUDY, Registration, Spaces, registration
from kernellab.targets.base import platform
from kernellab.targets.choose import choose_device, processor
from kernellab.tasks.load import is_task_file, kept_as
from kernellab.tasks.spec import dims_label
from kernellab.verdict.controls import prove

HYPOTHESIS_FILE = "hypothesis.toml"


@dataclass(frozen=True)
class Report:
    """A finished study: its verdict, and where the evidence is."""

    hypothesis: Hypothesis
    verdict: StudyVerdict
    folder: Path
    ledger_root: str

    def data(self) -> dict[str, Any]:
        return {
            "status": self.verdict.verdict,
            "claim": self.hypothesis.claim,
            **dump(self.verdict),
            "run": str(self.folder),
            "ledger_root": self.ledger_root,
        }


@dataclass
class Replicates(Archive):
    """Every replicate measures anew: only within one is equal machine code a duplicate, and nothing is given up early."""

    first: int = 0

    def known(self, task: str, dims: dict[str, int]) -> dict[str, int]:
        return Archive(self.trials[self.first :]).known(task, dims)

    def incumbent(self, task: str, dims: dict[str, int]) -> float:
        return 0.0


def run_study(
    path: Path, settings: Settings, folder: Path, others: Sequence[Path] = (), emit: Listener = silent
) -> Report:
    """`klab study run`: a new study, or the same one gone on with where its folder exists already."""
    hypothesis = read(path)
    if (folder / "ledger.jsonl").exists():
        registered = read_study(folder)
        if registered.registration is not None:
            refuse_changed(hypothesis, registered.registration, str(path))
            _refuse_other_terms(folder, registered.registration, hypothesis, path, settings, others)
            emit(Event("note", f"{folder} holds this study already: going on with it"))
            return resume_study(folder, emit)
    settings = settings.model_copy(update={"effort": hypothesis.effort, "seed": hypothesis.seeds[0]})
    device = settings.device if settings.device != "auto" else _auto(hypothesis)
    study_tasks = study_tasks_of(hypothesis, device, path.parent)
    if len({w.locator for w in study_tasks if is_task_file(w.locator)}) > 1:
        raise UsageError("a study has one task file at most", "make a study of each, or use built-in tasks")
    candidates = _distinct([c for w in study_tasks for c in w.candidates])
    settings = choose_device(settings.model_copy(update={"device": device}), candidates)
    for study_task in study_tasks:
        prove(study_task.task)
    if others and not borrows(hypothesis, device):
        raise UsageError(f"hypothesis {hypothesis.id} compares with no other run", "leave --other out")
    refuse_repeated(others)
    lent = [loan for other in others for loan in lend(other, hypothesis.id, study_tasks)]
    with _opened(settings, study_tasks[0], emit, hypothesis) as opened:
        spaces: Spaces = {}
        if borrows(hypothesis, device):
            refuse_same_device(others, opened.environment["device"])
        else:
            spaces = _spaces(opened, hypothesis, study_tasks)
        shapes = list({dims_label(d): d for w in study_tasks for d in w.shapes}.values())
        files = {HYPOTHESIS_FILE: path.read_bytes()}
        with ExperimentRun.start(opened, folder, shapes, candidates, PURPOSE, files=files, archive=Replicates()) as run:
            known = {c.name: sha256_hex(c.text.encode()) for c in candidates}
            before = [a.words(hypothesis.digest) for a in earlier_attempts(hypothesis.id)]
            _tell_earlier(hypothesis, before, emit)
            terms = registration(hypothesis, device, known, [described(o) for o in others], len(lent), spaces, before)
            note_attempt(hypothesis.id, hypothesis.digest, run.ledger.run_id, device)
            run.append(STUDY, terms)
            for loan in lent:
                run.keep(loan.candidate.text.encode())
                run.append(BORROWED, loan.record)
            return _conduct(run, hypothesis, study_tasks)


def resume_study(folder: Path, emit: Listener = silent) -> Report:
    """Go on where the ledger ends; a finished study is only read."""
    registered = read_study(folder)
    hypothesis, terms = registered.hypothesis, registered.registration
    if hypothesis is None or terms is None:
        raise UsageError(f"{folder} holds no study", "'klab study run' starts one; 'klab resume' goes on with a search")
    copy = folder / HYPOTHESIS_FILE
    if copy.exists():
        refuse_changed(read(copy), terms, str(copy))
    if registered.verdict is not None:
        emit(Event("note", f"{folder} is finished: nothing to resume, and nothing was changed"))
        return Report(hypothesis, registered.verdict, folder, check(folder).root)
    if len(registered.evidence.borrowed) != terms.loans:
        raise UsageError(
            f"{folder} was cut off while its study was being registered", "start it again with another --out"
        )
    settings = Settings(**Run(folder).genesis.settings.model_dump())
    study_tasks = _as_recorded(hypothesis, terms, folder)
    with (
        _opened(settings, study_tasks[0], emit, hypothesis) as opened,
        ExperimentRun.resume(opened, folder, Replicates()) as run,
    ):
        run.say_start(f"going on with {len(run.archive.trials)} trials")
        return _conduct(run, hypothesis, study_tasks)


def _tell_earlier(hypothesis: Hypothesis, before: Sequence[str], emit: Listener) -> None:
    if before:
        text = f"{hypothesis.id} was registered before with this key: {'; '.join(before)}; this study's record says so"
        emit(Event("note", text))


def _opened(settings: Settings, study_task: StudyTask, emit: Listener, hypothesis: Hypothesis) -> OpenTask:
    return OpenTask(settings, study_task.task, study_task.locator, emit, hypothesis.torch)


def _refuse_other_terms(
    folder: Path,
    registered: Registration,
    hypothesis: Hypothesis,
    path: Path,
    settings: Settings,
    others: Sequence[Path],
) -> None:
    """Asked for again on other terms than it was registered on: the folder cannot answer that."""
    then, device = Run(folder).genesis.settings, registered.device
    study_tasks = study_tasks_of(hypothesis, device, path.parent)
    now = {c.name: sha256_hex(c.text.encode()) for w in study_tasks for c in w.candidates}
    differs = {
        f"--device {device}": settings.device not in ("auto", device),
        f"--threads {then.threads}": settings.threads != then.threads,
        f"--target {then.target or 'of its own'}": settings.target != then.target,
        "other runs to compare with": [described(o).run for o in others] != [o.run for o in registered.others],
        "other candidate files": now != registered.candidates,
    }
    terms = [words for words, other in differs.items() if other]
    if terms:
        raise UsageError(
            f"{folder} holds this study with {', '.join(terms)}", "choose another --out, or ask for the same"
        )


def _conduct(run: ExperimentRun, hypothesis: Hypothesis, study_tasks: Sequence[StudyTask]) -> Report:
    done = 0
    for number, study_task in enumerate(study_tasks):
        with _lent(run, study_task, hypothesis, borrow=number > 0) as working:
            cells = _cells(working, hypothesis, study_task)
            later = sum(len(other.shapes) for other in study_tasks[number + 1 :]) * len(hypothesis.seeds)
            total = done + len(cells) + later
            for cell in cells:
                _run_cell(working, hypothesis, study_task, cell, (done, total))
                done += 1
    registered = read_study(run.folder)
    verdict = judge(hypothesis, registered.evidence, run.settings.device)
    run.append(VERDICT, verdict)
    note_attempt(hypothesis.id, hypothesis.digest, run.ledger.run_id, run.settings.device, verdict.verdict)
    run.append(kinds.END, End(results=[]))
    run.emit(Event("end", verdict.verdict, dump(verdict)))
    return Report(hypothesis, verdict, run.folder, run.ledger.root)


def _cells(run: ExperimentRun, hypothesis: Hypothesis, study_task: StudyTask) -> list[Cell]:
    if borrows(hypothesis, run.settings.device):
        return borrowed_cells(read_study(run.folder).evidence, study_task, hypothesis, run.device_name)
    return cells_of(hypothesis, study_task.population, study_task.shapes, _recipes(run.opened, study_task))


def _spaces(opened: OpenTask, hypothesis: Hypothesis, study_tasks: Sequence[StudyTask]) -> Spaces:
    """What the candidates say may be tried; what is wrong with the plan is said here, before anything is registered."""
    plan = [(study_task, _recipes(opened, study_task)) for study_task in study_tasks]
    refuse_unknown(hypothesis, opened.settings.device, plan)
    for study_task, recipes in plan:
        cells_of(hypothesis, study_task.population, study_task.shapes, recipes)
    return {recipe.name: recipe.space for _, recipes in plan for recipe in recipes}


def _recipes(opened: OpenTask, study_task: StudyTask) -> list[Recipe]:
    recipes, unusable = load_recipes(opened.builder, study_task.candidates)
    if unusable:
        raise UsageError(
            "; ".join(f"candidate {n} is unusable: {r}" for n, r in unusable.items()), "see docs/candidates.md"
        )
    return recipes


@contextmanager
def _lent(run: ExperimentRun, study_task: StudyTask, hypothesis: Hypothesis, borrow: bool) -> Iterator[ExperimentRun]:
    """The run itself for the first task; for any other one that is opened for it, the same record."""
    if not borrow:
        yield run
        return
    with _opened(run.settings, study_task, run.emit, hypothesis) as other:
        yield run.beside(other)


def _run_cell(
    run: ExperimentRun, hypothesis: Hypothesis, study_task: StudyTask, cell: Cell, place: tuple[int, int]
) -> None:
    """`place`: so many cells come before it, of how many; those of tasks to come as far as they are known."""
    run.seed = cell.seed
    assert isinstance(run.archive, Replicates)
    done = {key_of_trial(t): t for t in run.archive.trials}
    mine = [(idea, done.get(key_of(study_task.task.name, cell.dims, cell.seed, idea))) for idea in cell.ideas]
    left = [idea for idea, trial in mine if trial is None]
    unexamined = [t for _, t in mine if t is not None and _missing(run, study_task, t)]
    if not left and not unexamined:
        return
    run.archive.first = min((t.trial for _, t in mine if t is not None), default=len(run.archive.trials))
    replicate = f"replicate {hypothesis.seeds.index(cell.seed) + 1} of {len(hypothesis.seeds)}"
    text = f"{study_task.task.name} {dims_label(cell.dims)}, {replicate}"
    told = {"dims": cell.dims, "trials": len(left), "number": place[0], "shapes": place[1], "part": "part"}
    run.emit(Event("stage", text, told))
    stage = run.stage(cell.dims)
    try:
        for trial in unexamined:
            idea = Idea(_candidate(study_task, trial.proposal.name), dict(trial.proposal.params), "")
            _examine(run, hypothesis, study_task, trial, idea)
        with Ahead(Listed(left), partial(build, run, stage), run.opened.device.build_jobs) as ahead:
            for count in range(len(left), 0, -1):
                found = ahead.next(count)
                assert found is not None
                _examine(run, hypothesis, study_task, step(run, stage, found[0]), found[0])
    finally:
        stage.close()


def _missing(run: ExperimentRun, study_task: StudyTask, trial: AnyTrial) -> list[str]:
    """The distributions under which a recorded trial has not been examined yet."""
    if isinstance(trial, FailedTrial) or not study_task.examined:
        return []
    seen = {e.distribution for e in read_study(run.folder).evidence.examinations if e.trial == trial.trial}
    return [d for d in study_task.examined if d not in seen]


def _examine(run: ExperimentRun, hypothesis: Hypothesis, study_task: StudyTask, trial: AnyTrial, idea: Idea) -> None:
    """One verdict a distribution, rejected trials too: how far off they are is the question. The inputs follow from the
    hypothesis and the replicate's seed, so that anyone can draw them again."""
    for distribution in _missing(run, study_task, trial):
        seed = inputs_of(hypothesis, trial.task, trial.dims, trial.seed, distribution).hex()
        judging = Judging(distribution=distribution, inputs_seed=seed)
        found = run.evaluate(run.opened.request(trial.dims, idea.candidate, idea.params, judging=judging))
        if found.verdict is not None:
            run.append(EXAMINATION, Examination(
                study=hypothesis.id, trial=trial.trial, dims=trial.dims, distribution=distribution, seed=trial.seed,
                inputs_seed=seed, verdict=found.verdict,
            ))  # fmt: skip


def _candidate(study_task: StudyTask, name: str) -> Candidate:
    return next(c for c in study_task.candidates if c.name == name)


def _as_recorded(hypothesis: Hypothesis, registered: Registration, folder: Path) -> list[StudyTask]:
    """The population again, with the candidates as they were registered; files are the copies in the run folder."""
    store = Store(folder)
    kept = folder / "candidates"
    kept.mkdir(exist_ok=True)
    plain = hypothesis.model_copy(update={"population": [
        p.model_copy(update={
            "tasks": [str((folder / kept_as(t)).resolve()) if is_task_file(t) else t for t in p.tasks],
            "candidates": [c if not c.endswith(".py") else str((kept / Path(c).name).resolve()) for c in p.candidates],
        }) for p in hypothesis.population
    ]})  # fmt: skip
    for name, sha in registered.candidates.items():
        (kept / f"{name}.py").write_bytes(store.get(sha))
    study_tasks = study_tasks_of(plain, registered.device, folder)
    for study_task in study_tasks:
        for candidate in study_task.candidates:
            if sha256_hex(candidate.text.encode()) != registered.candidates.get(candidate.name):
                raise UsageError(f"candidate {candidate.name} is not the one that was registered",
                                 "use the version of kernellab that started the study")  # fmt: skip
    return study_tasks


def _auto(hypothesis: Hypothesis) -> str:
    """An accelerator where there is one and the hypothesis speaks of it, else the processor."""
    kinds = {p.device for p in hypothesis.population}
    spoken_of = [found for found in map(platform, devices()) if found.accelerator and found.kind in kinds]
    here = next((found.kind for found in spoken_of if len(kinds) == 1 or found.present()), "")
    return here or processor().kind


def _distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Each once; records go by names, so one name must not stand for two texts."""
    found = {c.name: c for c in candidates}
    twice = [c.name for c in candidates if c.text != found[c.name].text]
    if twice:
        raise UsageError(f"two candidates are called '{twice[0]}'", "rename one of the files")
    return list(found.values())
