"""Runs as a whole: start one, continue one, try a single file. A run is a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.events import Event, Listener, silent
from kernellab.core.ids import sha256_hex
from kernellab.core.records import AnyTrial, MeasuredTrial, Param
from kernellab.core.settings import NO_MODEL, Settings
from kernellab.core.targets import devices
from kernellab.evaluate.open_task import OpenTask
from kernellab.ledger import kinds
from kernellab.ledger.check import check
from kernellab.ledger.disk import keep_file
from kernellab.ledger.journal import refuse_other_key
from kernellab.ledger.keys import PublicKey, load_or_create_key
from kernellab.ledger.records import AnyResult, End, Published
from kernellab.ledger.run import Run
from kernellab.ledger.session_records import PURPOSE as SESSION
from kernellab.ledger.store import Store
from kernellab.propose.base import Idea, Listed
from kernellab.propose.carve import carve
from kernellab.propose.generated import generated_candidates
from kernellab.propose.recipe import builtin_candidates, with_defaults
from kernellab.search.experiment_run import ExperimentRun, candidates_of, task_of
from kernellab.search.loop import Budget, search_shape
from kernellab.search.memory.warm import place, warm_start
from kernellab.search.outcome import Outcome
from kernellab.search.proposers.registry import choose
from kernellab.search.question import Question
from kernellab.search.replay import read_trials
from kernellab.search.result import best_facts, best_name, plain
from kernellab.search.scientist.model_session import keep_templates
from kernellab.search.scientist.pytorch import check_pytorch
from kernellab.search.shape_by_shape import SearchRequest, search
from kernellab.search.tune import check_sampler
from kernellab.search.verify import PURPOSE as VERIFY
from kernellab.search.verify import judge_run
from kernellab.targets.choose import choose_device, platform_of
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims, Task, dims_label, in_order
from kernellab.verdict.controls import examine

_BASELINES = "baselines"
"""The purpose of a run in which nothing is tried."""


def run_search(
    locator: str,
    settings: Settings,
    folder: Path,
    shapes: Sequence[Dims] = (),
    extra: Sequence[Candidate] = (),
    warm: Path | None = None,
    emit: Listener = silent,
    profiled: bool = False,
    science: Question | None = None,
    proved: bool = False,
) -> Outcome:
    """`klab run`: search every shape with the built-in recipes and the given candidates, and whoever proposes.

    `profiled`: say of every shape's best confirmed kernel what bounds it. `proved`: the task's judge was tried already.
    """
    question = science or Question(NO_MODEL)
    kind, argument = choose(settings.proposer, question.science.model)
    needs_some = kind.needs == "recipes"
    if settings.sampled:
        check_sampler(settings.sampler)
    task, settings, candidates = known_candidates(locator, settings, extra)
    files = {**question.files(), **kind.files(argument, settings.device)}
    remarks = () if proved else _prove(task, emit)
    if question.pytorch:
        check_pytorch(question.pytorch, task)
    if warm is None and needs_some:
        _refuse_nothing(task, settings.device, candidates)
    chosen = list({dims_label(d): d for d in (tuple(shapes) or task.tune)}.values())
    borrowed = {str(warm): read_trials(warm)} if warm is not None else {}
    with OpenTask(settings, task, locator, emit) as opened:
        candidates += carried_over(opened, chosen, candidates, borrowed)
        if needs_some:
            _refuse_nothing(task, settings.device, candidates)
        started = partial(ExperimentRun.start, opened, folder, chosen, candidates, "search")
        with started(science=question.data(), files=files, remarks=remarks) as run:
            keep_templates(folder, question.templates)
            request = SearchRequest(question, settings.proposer, borrowed=borrowed, profiled=profiled)
            return _end(run, *search(run, chosen, candidates, request))


def measure_baselines(locator: str, settings: Settings, folder: Path, emit: Listener = silent) -> Outcome:
    """A run of a task without candidates: its ceilings, floor and baselines at every timed shape, and nothing tried."""
    task = load_task(locator).on(settings.device)
    with (
        OpenTask(settings, task, locator, emit) as opened,
        ExperimentRun.start(opened, folder, task.tune, [], _BASELINES) as run,
    ):
        return _end(run, _measured(run, task.tune, {}))


def _measured(run: ExperimentRun, shapes: Sequence[Dims], done: Mapping[str, AnyResult]) -> list[AnyResult]:
    results = []
    for dims in shapes:
        result = done.get(dims_label(dims))
        if result is None:
            stage = run.stage(dims)
            try:
                result = search_shape(run, stage, Listed([]), Budget(0, 0.0))
            finally:
                stage.close()
        results.append(result)
    return results


def _refuse_nothing(task: Task, device: str, candidates: Sequence[Candidate]) -> None:
    if not candidates:
        why_not = generated_candidates(task, device).why_not
        more = f", and none can be generated: {why_not}" if why_not else ""
        raise UsageError(
            f"there are no candidates for task '{task.name}'{more}",
            "put SOURCE and launch() into the task file ('klab init' shows how), or give --candidate FILE or --model NAME",
        )


def known_candidates(
    locator: str, settings: Settings, extra: Sequence[Candidate]
) -> tuple[Task, Settings, list[Candidate]]:
    """The task on the device that suits it, and every candidate there is for it: built in, its own, the given ones, and
    those that are generated from its graph."""
    task = load_task(locator)
    own = [*_own_candidate(locator), *extra]
    builtin = [device for device in devices() if builtin_candidates(task.name, device)]
    settings = choose_device(settings, own, builtin, task.name)
    task = task.on(settings.device)
    generated = generated_candidates(task, settings.device).candidates
    return task, settings, [*builtin_candidates(task.name, settings.device), *own, *generated]


def carried_over(
    opened: OpenTask,
    shapes: Sequence[Dims],
    candidates: Sequence[Candidate],
    borrowed: Mapping[str, Sequence[AnyTrial]],
) -> list[Candidate]:
    """Kernels of another run that this one does not have (a scientist's own, say), if they are among its best."""
    known = {sha256_hex(c.text.encode()) for c in candidates}
    found: dict[str, Candidate] = {}
    for dims in shapes:
        for start in warm_start(borrowed, place(opened.task.name, dims, opened.environment["device"])):
            source = start.trial.proposal.source
            if source not in known:
                text = Store(Path(start.run)).get(source).decode()
                found.setdefault(source, Candidate(text, start.name))
    return list(found.values())


def resume_run(folder: Path, emit: Listener = silent, extra_trials: int = 0) -> Outcome:
    """`klab resume`: go on where the ledger ends. A run that has ended is only read: nothing of its folder changes."""
    asked = Run(folder).genesis
    if asked.purpose == SESSION:
        raise UsageError(f"{folder} holds the session of an agent", "the tools begin another; this one can be read")
    if not extra_trials and (outcome := _read_ended(folder)) is not None:
        emit(Event("note", f"{folder} is finished: nothing to resume, and nothing was changed"))
        return outcome
    if extra_trials and asked.purpose in ("try", VERIFY, _BASELINES):
        what = "baselines alone" if asked.purpose == _BASELINES else "the trial of one candidate"
        raise UsageError(f"{folder} holds {what}", "start a search with 'klab run' for more trials")
    settings = Settings(**asked.settings.model_dump())
    task, locator = task_of(folder)
    candidates = candidates_of(folder)
    with OpenTask(settings, task, locator, emit) as opened, ExperimentRun.resume(opened, folder) as run:
        run.say_start(f"resuming with {len(run.archive.trials)} trials")
        shapes = [in_order(d, task) for d in asked.shapes]
        if asked.purpose == "try":
            return _try(run, shapes[0], candidates[0], asked.params, _finished(folder, task))
        if asked.purpose == VERIFY:
            return judge_run(run, shapes[0], candidates[0], asked.params)
        if asked.purpose == _BASELINES:
            return _end(run, _measured(run, shapes, _finished(folder, task)))
        question = Question.of(folder, asked.science)
        request = SearchRequest(
            question, settings.proposer, {} if extra_trials else _finished(folder, task), extra_trials
        )
        return _end(run, *search(run, shapes, candidates, request))


def try_candidate(
    locator: str,
    candidate: Candidate,
    settings: Settings,
    folder: Path,
    dims: Dims | None = None,
    params: dict[str, Param] | None = None,
    emit: Listener = silent,
) -> Outcome:
    """`klab bench`: one file through the whole chain, recorded like any trial."""
    settings = choose_device(settings, [candidate])
    task = load_task(locator).on(settings.device)
    remarks = _prove(task, emit)
    dims = dims or min(task.tune, key=task.least_bytes)
    with OpenTask(settings, task, locator, emit) as opened:
        chosen = with_defaults(opened.builder, candidate, params)
        with ExperimentRun.start(opened, folder, [dims], [candidate], "try", chosen, remarks=remarks) as run:
            return _try(run, dims, candidate, chosen, {})


def _prove(task: Task, emit: Listener) -> tuple[str, ...]:
    """TaskRefused where wrong kernels would pass; what the outputs cannot show is told."""
    emit(Event("doing", f"proving that the judge of {task.name} catches wrong kernels"))
    remarks = examine(task).remarks
    for remark in remarks:
        emit(Event("note", f"remark: {remark}"))
    return remarks


def _try(
    run: ExperimentRun, dims: Dims, candidate: Candidate, params: dict[str, Param], done: dict[str, AnyResult]
) -> Outcome:  # fmt: skip
    result = done.get(dims_label(dims)) or time_trial(run, dims, candidate, params)
    return _end(run, [result])


def time_trial(run: ExperimentRun, dims: Dims, candidate: Candidate, params: dict[str, Param]) -> AnyResult:
    """One trial of a run that may go on: judged, timed, confirmed and recorded, with its result."""
    stage = run.stage(dims)
    try:
        idea = Idea(candidate, params, "handed in by the user", "user")
        return search_shape(run, stage, Listed([idea]), Budget(1, 0.0))
    finally:
        stage.close()


def _end(run: ExperimentRun, results: list[AnyResult], extras: dict[str, Any] | None = None) -> Outcome:
    for result in results:
        if isinstance(result, Published) and result.win:
            trial = run.archive.trials[result.trial]
            assert isinstance(trial, MeasuredTrial)
            _write_best(run, trial, result)
        else:  # a winner that more trials did not confirm again is none any more
            for kind in (".py", ".json"):
                (run.folder / f"{best_name(in_order(result.dims, run.task))}{kind}").unlink(missing_ok=True)
    run.append(kinds.END, End(results=results, **({"extras": extras} if extras else {})))
    opened = run.opened
    outcome = Outcome(run.folder, opened.tier, opened.trust, run.ledger.root, tuple(results), extras or {})
    run.emit(Event("end", outcome.status, outcome.data()))
    return outcome


def _write_best(run: ExperimentRun, trial: MeasuredTrial, result: AnyResult) -> None:
    """The winning source with its parameters, for people; the ledger stays the authority."""
    name = best_name(in_order(trial.dims, run.task))
    keep_file(run.folder, f"{name}.py", run.store.get(trial.proposal.source))
    keep_file(run.folder, f"{name}.json", json.dumps(best_facts(trial, plain(result)), indent=2).encode() + b"\n")


def _own_candidate(locator: str) -> list[Candidate]:
    """A task file may carry its own first candidate."""
    if not locator.endswith(".py") or not os.path.isfile(locator):
        return []
    text = Path(locator).read_text()
    return [Candidate(carve(text), Path(locator).stem)] if "def launch" in text else []


def _finished(folder: Path, task: Task) -> dict[str, AnyResult]:
    """Shapes whose result is recorded already."""
    return {dims_label(in_order(r.dims, task)): r for r in Run(folder).results}


def _read_ended(folder: Path) -> Outcome | None:
    """The outcome of a run that has ended and is signed to its end, from its ledger alone; None for any other."""
    found = check(folder)
    if not found.ended or found.torn or found.problems:
        return None
    refuse_other_key(folder, PublicKey(bytes.fromhex(found.public_key)), load_or_create_key())
    task, _ = task_of(folder)
    run = Run(folder)
    end = run.records(kinds.END)[-1]
    results = tuple(r.model_copy(update={"dims": in_order(r.dims, task)}) for r in end.results)
    trust = platform_of(run.genesis.settings).trust
    extras = {**end.extras, "already_finished": True}
    return Outcome(folder, run.environments[-1].record.tier, trust, found.root, results, extras)


def describe_task(task: Task) -> dict[str, Any]:
    """A task in words, without the shapes that stay secret."""
    return {
        "name": task.name,
        "about": task.about,
        "inputs": {b.name: f"{b.dtype}[{', '.join(map(str, b.extents))}]" for b in task.inputs},
        "outputs": {b.name: f"{b.dtype}[{', '.join(map(str, b.extents))}]" for b in task.outputs},
        "tune": [dims_label(d) for d in task.tune],
        "distributions": list(task.distributions),
        "baselines": list(task.baselines),
        "candidates": [c.name for d in devices() for c in builtin_candidates(task.name, d)],
    }
