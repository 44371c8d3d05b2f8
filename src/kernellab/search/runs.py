"""Runs as a whole: start one, continue one, try a single file. A run is a folder."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernellab.build.base import Builder, Candidate
from kernellab.core.errors import (
    EXIT_BETTER,
    EXIT_BUSY,
    EXIT_NOTHING_BETTER,
    EXIT_NOTHING_VERIFIED,
    UsageError,
)
from kernellab.core.events import Event, Listener, silent
from kernellab.core.ids import sha256_hex
from kernellab.core.records import AnyTrial, MeasuredTrial, Param, Trust
from kernellab.core.settings import NO_MODEL, Settings
from kernellab.core.targets import devices
from kernellab.ledger import kinds
from kernellab.ledger.check import check
from kernellab.ledger.disk import keep_file
from kernellab.ledger.journal import refuse_other_key
from kernellab.ledger.keys import PublicKey, load_or_create_key
from kernellab.ledger.records import AnyResult, End, Published
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.propose.base import Idea
from kernellab.propose.carve import carve
from kernellab.propose.recipe import builtin_candidates, load_recipes
from kernellab.search.lab import Budget, Lab, candidates_of, task_of
from kernellab.search.loop import search_shape
from kernellab.search.memory.warm import place, warm_start
from kernellab.search.on_request import sanitize_candidate
from kernellab.search.replay import read_trials
from kernellab.search.result import best_facts, best_name, plain
from kernellab.search.scientist.model_session import keep_templates
from kernellab.search.scientist.pytorch import check_pytorch
from kernellab.search.shape_by_shape import Question, SearchRequest, search
from kernellab.targets.base import platform
from kernellab.targets.choose import choose_device, platform_of
from kernellab.tasks.load import load_task
from kernellab.tasks.spec import Dims, Task, dims_label, in_order
from kernellab.verify.controls import prove

_EXIT = {
    "better": EXIT_BETTER,
    "busy": EXIT_BUSY,
    "nothing-better": EXIT_NOTHING_BETTER,
    "nothing-verified": EXIT_NOTHING_VERIFIED,
}
"""What a run's shapes came to; the first of these that occurs is the run's own status."""
_ORDER = tuple(_EXIT)


@dataclass(frozen=True)
class Outcome:
    """A finished run: one result for each shape, the ledger's last root, and the exit code they mean.

    `extras` is what was asked for beyond that ("profiles", "sanitizer"), as --json carries it.
    """

    folder: Path
    tier: str
    trust: Trust
    ledger_root: str
    results: tuple[AnyResult, ...]
    extras: dict[str, Any] = field(default_factory=dict)

    @property
    def status(self) -> str:
        return min((r.status for r in self.results), key=_ORDER.index)

    @property
    def exit_code(self) -> int:
        return _EXIT[self.status]

    def data(self) -> dict[str, Any]:
        """The object that --json ends with: the headline shape's figures, then every shape."""
        head = plain(next(r for r in self.results if r.status == self.status))
        keys = (
            "max_abs_err",
            "max_ulp",
            "speedup",
            "speedup_low",
            "speedup_high",
            "baseline",
            "of_floor",
            "of_memory_floor",
            "trial",
            "latency_s",
            "gb_per_s",
            "task",
            "dims",
            "dtype",
            "threads",
        )
        return {
            "status": self.status,
            "reason": head["reason"],
            "trust": self.trust,
            "tier": self.tier,
            **{k: head.get(k) for k in keys},
            "run": str(self.folder),
            "ledger_root": self.ledger_root,
            "shapes": [plain(r) for r in self.results],
            **self.extras,
        }


class OneIdea:
    """The proposer behind verify and bench: a single file with fixed parameters."""

    def __init__(self, idea: Idea) -> None:
        self._idea: Idea | None = idea

    def propose(self) -> Idea | None:
        idea, self._idea = self._idea, None
        return idea

    def learn(self, idea: Idea, score: float | None, trial: AnyTrial | None = None) -> None:
        """There is nothing to learn from one trial."""


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
) -> Outcome:
    """`klab run`: search every shape with the built-in recipes and the given candidates, and with a scientist if wanted.

    `profiled`: say of every shape's best confirmed kernel what bounds it.
    """
    question = science or Question(NO_MODEL)
    task, settings, candidates = known_candidates(locator, settings, extra)
    prove(task)
    if question.pytorch:
        check_pytorch(question.pytorch, task)
    if warm is None:
        _refuse_nothing(task, candidates, question)
    chosen = list({dims_label(d): d for d in (tuple(shapes) or task.tune)}.values())
    borrowed = {str(warm): read_trials(warm)} if warm is not None else {}
    with Lab(settings, task, locator, emit) as lab:
        candidates += carried_over(lab, chosen, candidates, borrowed)
        _refuse_nothing(task, candidates, question)
        lab.begin(folder, chosen, candidates, "search", science=question.data(), files=question.files())
        keep_templates(folder, question.templates)
        return _end_of(
            lab, search(lab, chosen, candidates, SearchRequest(question, borrowed=borrowed, profiled=profiled))
        )


def _refuse_nothing(task: Task, candidates: Sequence[Candidate], question: Question) -> None:
    if not candidates and not question.science.model:
        raise UsageError(
            f"there are no candidates for task '{task.name}'",
            "put SOURCE and launch() into the task file ('klab init' shows how), or give --candidate FILE or --model NAME",
        )


def known_candidates(
    locator: str, settings: Settings, extra: Sequence[Candidate]
) -> tuple[Task, Settings, list[Candidate]]:
    """The task on the device that suits it, and every candidate there is for it: built in, its own, and the given ones."""
    task = load_task(locator)
    own = [*_own_candidate(locator), *extra]
    builtin = [device for device in devices() if builtin_candidates(task.name, device)]
    settings = choose_device(settings, own, builtin, task.name)
    task = task.on(settings.device)
    return task, settings, [*builtin_candidates(task.name, settings.device), *own]


def carried_over(
    lab: Lab, shapes: Sequence[Dims], candidates: Sequence[Candidate], borrowed: Mapping[str, Sequence[AnyTrial]]
) -> list[Candidate]:
    """Kernels of another run that this one does not have (a scientist's own, say), if they are among its best."""
    known = {sha256_hex(c.text.encode()) for c in candidates}
    found: dict[str, Candidate] = {}
    for dims in shapes:
        for start in warm_start(borrowed, place(lab.task.name, dims, lab.environment["device"])):
            source = start.trial.proposal.source
            if source not in known:
                text = Store(Path(start.run)).get(source).decode()
                found.setdefault(source, Candidate(text, start.name))
    return list(found.values())


def resume_run(folder: Path, emit: Listener = silent, extra_trials: int = 0) -> Outcome:
    """`klab resume`: go on where the ledger ends. A run that has ended is only read: nothing of its folder changes."""
    asked = Run(folder).genesis
    if not extra_trials and (outcome := _read_ended(folder)) is not None:
        emit(Event("note", f"{folder} is finished: nothing to resume, and nothing was changed"))
        return outcome
    if extra_trials and asked.purpose == "try":
        raise UsageError(f"{folder} holds the trial of one candidate", "start a search with 'klab run' for more trials")
    settings = Settings(**asked.settings.model_dump())
    task, locator = task_of(folder)
    candidates = candidates_of(folder)
    with Lab(settings, task, locator, emit) as lab:
        lab.reopen(folder)
        emit(
            Event(
                "start",
                f"resuming with {len(lab.archive.trials)} trials",
                {"folder": str(folder), "tier": lab.tier, "device": lab.environment["device"], "task": task.name},
            )
        )
        shapes = [in_order(d, task) for d in asked.shapes]
        if asked.purpose == "try":
            return _try(lab, shapes[0], candidates[0], asked.params, _finished(folder, task))
        question = Question.of(folder, asked.science)
        request = SearchRequest(question, {} if extra_trials else _finished(folder, task), extra_trials)
        return _end_of(lab, search(lab, shapes, candidates, request))


def try_candidate(
    locator: str,
    candidate: Candidate,
    settings: Settings,
    folder: Path,
    dims: Dims | None = None,
    params: dict[str, Param] | None = None,
    emit: Listener = silent,
    sanitized: bool = False,
) -> Outcome:
    """`klab verify` and `klab bench`: one file through the whole chain, recorded like any trial.

    `sanitized`: let compute-sanitizer look at it too; what it finds overrules the verdict.
    """
    settings = choose_device(settings, [candidate])
    if sanitized and platform(settings.device).sanitizer() is None:
        raise UsageError("--sanitize is for kernels on a GPU: compute-sanitizer cannot look at machine code of a processor",
                         "leave it out, or give a Triton or CUDA candidate and --device cuda")  # fmt: skip
    task = load_task(locator).on(settings.device)
    prove(task)
    dims = dims or min(task.tune, key=task.least_bytes)
    with Lab(settings, task, locator, emit) as lab:
        chosen = with_defaults(lab.builder, candidate, params or {})
        lab.begin(folder, [dims], [candidate], "try", chosen)
        return _try(lab, dims, candidate, chosen, {}, sanitized)


def with_defaults(builder: Builder, candidate: Candidate, params: dict[str, Param]) -> dict[str, Param]:
    """The given parameters, and the first choice of its SPACE for every other one."""
    recipes, _ = load_recipes(builder, [candidate])
    space = recipes[0].space if recipes else {}
    unknown = [name for name in params if recipes and name not in space]
    if unknown:
        known = ", ".join(space) or "none"
        raise UsageError(f"{candidate.name} has no parameter '{unknown[0]}'", f"the names in its SPACE: {known}")
    return {**{k: v[0] for k, v in space.items()}, **params}


def _try(
    lab: Lab, dims: Dims, candidate: Candidate, params: dict[str, Param], done: dict[str, AnyResult],
    sanitized: bool = False,
) -> Outcome:  # fmt: skip
    assert lab.ledger is not None
    result = done.get(dims_label(dims))
    if result is None:
        stage = lab.stage(dims)
        try:
            idea = Idea(candidate, params, "handed in by the user", "user")
            result = search_shape(lab, stage, OneIdea(idea), Budget(1, 0.0))
        finally:
            stage.close()
    if not sanitized:
        return _end(lab, lab.ledger.folder, (result,))
    result, said = sanitize_candidate(lab, dims, candidate, params, result)
    return _end(lab, lab.ledger.folder, (result,), {"sanitizer": said})


def default_folder(name: str, base: Path | None = None) -> Path:
    """klab-runs/<name>-<time>, never an existing one."""
    root = (base or Path("klab-runs")) / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder, number = root, 1
    while folder.exists():
        number += 1
        folder = root.with_name(f"{root.name}-{number}")
    return folder


def _end_of(lab: Lab, found: tuple[list[AnyResult], dict[str, Any]]) -> Outcome:
    assert lab.ledger is not None
    return _end(lab, lab.ledger.folder, tuple(found[0]), found[1])


def _end(lab: Lab, folder: Path, results: tuple[AnyResult, ...], extras: dict[str, Any] | None = None) -> Outcome:
    assert lab.ledger is not None
    for result in results:
        if isinstance(result, Published) and result.win:
            trial = lab.archive.trials[result.trial]
            assert isinstance(trial, MeasuredTrial)
            _write_best(lab, folder, trial, result)
    lab.append(kinds.END, End(results=list(results), **({"extras": extras} if extras else {})))
    outcome = Outcome(folder, lab.tier, lab.trust, lab.ledger.root, results, extras or {})
    lab.emit(Event("end", outcome.status, outcome.data()))
    return outcome


def _write_best(lab: Lab, folder: Path, trial: MeasuredTrial, result: AnyResult) -> None:
    """The winning source with its parameters, for people; the ledger stays the authority."""
    assert lab.store is not None
    name = best_name(in_order(trial.dims, lab.task))
    keep_file(folder, f"{name}.py", lab.store.get(trial.proposal.source))
    keep_file(folder, f"{name}.json", json.dumps(best_facts(trial, plain(result)), indent=2).encode() + b"\n")


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
