"""A search, shape after shape, with whoever proposes: a tuner over recipes, or the scientist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.core.records import AnyTrial, Param
from kernellab.core.settings import Science
from kernellab.ledger import kinds
from kernellab.ledger.records import AnyResult, Note
from kernellab.propose.base import Proposer
from kernellab.propose.models import Policy
from kernellab.propose.recipe import Recipe, load_recipes
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.loop import Budget, search_shape
from kernellab.search.memory.warm import place, warm_start
from kernellab.search.on_request import profile_trial
from kernellab.search.scientist.model_session import ModelSession, open_session
from kernellab.search.scientist.prompt_context import PromptContext
from kernellab.search.scientist.proposer import Scientist
from kernellab.search.tune import make_tuner
from kernellab.tasks.spec import Dims, dims_label

_PYTORCH = "pytorch.py"


@dataclass(frozen=True)
class Question:
    """What a scientist is asked to do, kept with the run. `pytorch`: code to translate; `templates`: the user's own."""

    science: Science
    pytorch: str = ""
    templates: Path | None = None
    policy: Policy | None = None

    @staticmethod
    def of(folder: Path, recorded: Mapping[str, Any] | None) -> Question:
        """Of a run that is resumed; its templates lie in its folder."""
        code = folder / _PYTORCH
        return Question(Science(**(recorded or {})), code.read_text() if code.is_file() else "")

    def data(self) -> dict[str, Any] | None:
        return self.science.model_dump(mode="json") if self.science.model else None

    def files(self) -> dict[str, bytes]:
        """What the run's folder keeps of it, and its first entry names."""
        return {_PYTORCH: self.pytorch.encode()} if self.pytorch else {}


@dataclass(frozen=True)
class SearchRequest:
    """`done`: shapes whose result is recorded; `extra`: so many further trials each; `borrowed`: trials of other runs."""

    question: Question
    done: dict[str, AnyResult] = field(default_factory=dict)
    extra: int = 0
    borrowed: Mapping[str, Sequence[AnyTrial]] = field(default_factory=dict)
    profiled: bool = False


def search(
    run: ExperimentRun, shapes: Sequence[Dims], candidates: Sequence[Candidate], request: SearchRequest
) -> tuple[list[AnyResult], dict[str, Any]]:
    """Every shape's result, and what was asked for beyond them."""
    recipes = usable(run, candidates, bool(request.question.science.model))
    results: list[AnyResult] = []
    profiles: list[dict[str, Any]] = []
    with _session(run, request.question) as session:
        for number, dims in enumerate(shapes):
            if dims_label(dims) in request.done:
                results.append(request.done[dims_label(dims)])
                continue
            run.emit(
                Event(
                    "stage",
                    f"{run.task.name} {dims_label(dims)}",
                    {"dims": dims, "trials": run.settings.max_trials, "number": number, "shapes": len(shapes)},
                )
            )
            stage = run.stage(dims)
            try:
                warm = _warm(run, dims, request.borrowed)
                tuner = make_tuner(recipes, run.settings.sampler, run.settings.seed + number, warm) if recipes else None
                budget = _budget(run, dims, len(shapes), request)
                with _proposer(run, session, tuner, len(recipes) + len(warm), dims, shapes) as proposer:
                    results.append(search_shape(run, stage, proposer, budget, in_order=session is not None))
                if request.profiled and (best := results[-1].trial) is not None:
                    profiles.append(kinds.PROFILE.plain(profile_trial(run, stage, best)))
            finally:
                stage.close()
        extras: dict[str, Any] = {"profiles": profiles} if request.profiled else {}
        return results, {**extras, **({"model": {"name": session.author.name, **session.spent()}} if session else {})}


def usable(run: ExperimentRun, candidates: Sequence[Candidate], may_be_none: bool) -> list[Recipe]:
    """The candidates whose space can be read; what is wrong with the others is noted."""
    recipes, unusable = load_recipes(run.opened.builder, candidates)
    for name, reason in unusable.items():
        run.append(kinds.NOTE, Note(candidate=name, unusable=reason))
        run.emit(Event("note", f"candidate {name} is unusable: {reason}"))
    if not recipes and not may_be_none:
        raise UsageError(
            "no candidate file is usable: " + "; ".join(f"{n}: {r}" for n, r in unusable.items()),
            "see docs/candidates.md for the format",
        )
    return recipes


@contextmanager
def _session(run: ExperimentRun, question: Question) -> Iterator[ModelSession | None]:
    if not question.science.model:
        yield None
        return
    with open_session(run, question.science, question.pytorch, question.policy) as session:
        yield session


@contextmanager
def _proposer(
    run: ExperimentRun,
    session: ModelSession | None,
    tuner: Proposer | None,
    known: int,
    dims: Dims,
    shapes: Sequence[Dims],
) -> Iterator[Proposer]:
    """With a session, half of the trials at most go to what is known already."""
    if session is None:
        assert tuner is not None
        yield tuner
        return
    context = PromptContext(run, session, dims, shapes)
    session.author.book.check(context.task, context.device, context.backend)
    scientist = Scientist(context, tuner, min(known, max(1, run.settings.max_trials // 2)))
    try:
        yield scientist
        scientist.finish()
    finally:
        scientist.close()


def _warm(
    run: ExperimentRun, dims: Dims, borrowed: Mapping[str, Sequence[AnyTrial]]
) -> list[tuple[str, dict[str, Param]]]:
    """The best at the nearest place: another shape of this run, or whatever another run holds."""
    here = [t for t in run.archive.trials if t.dims != dims]
    starts = warm_start({**borrowed, "this run": here}, place(run.task.name, dims, run.device_name))
    return [(start.name, start.params) for start in starts]


def _budget(run: ExperimentRun, dims: Dims, shapes: int, request: SearchRequest) -> Budget:
    settings, science = run.settings, request.question.science
    known = len(run.archive.of(run.task.name, dims))
    trials = known + request.extra if request.extra else settings.max_trials
    seconds = settings.seconds or science.budget_seconds or 0.0
    return Budget(trials, seconds / shapes, spent=partial(_spent, run, science.budget_trials))


def _spent(run: ExperimentRun, trials: int | None) -> bool:
    """Whether the run as a whole has had its GPU time or its trials."""
    if trials is not None and len(run.archive.trials) >= trials:
        return True
    return 0 < run.settings.gpu_seconds <= run.opened.device.gpu_seconds()
