"""A search, shape after shape, with whoever proposes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.events import Event
from kernellab.core.records import AnyTrial, Param
from kernellab.ledger import kinds
from kernellab.ledger.records import AnyResult, Note
from kernellab.propose.recipe import Recipe, load_recipes
from kernellab.search.experiment_run import ExperimentRun
from kernellab.search.loop import Budget, search_shape
from kernellab.search.memory.warm import place, warm_start
from kernellab.search.on_request import profile_trial
from kernellab.search.proposers.base import SearchContext, ShapeContext
from kernellab.search.proposers.registry import choose
from kernellab.search.question import Question
from kernellab.tasks.spec import Dims, dims_label


@dataclass(frozen=True)
class SearchRequest:
    """`proposer`: by its name in the registry, or "". `done`: shapes whose result is recorded; `extra`: so many further
    trials each; `borrowed`: trials of other runs."""

    question: Question
    proposer: str = ""
    done: dict[str, AnyResult] = field(default_factory=dict)
    extra: int = 0
    borrowed: Mapping[str, Sequence[AnyTrial]] = field(default_factory=dict)
    profiled: bool = False


def search(
    run: ExperimentRun, shapes: Sequence[Dims], candidates: Sequence[Candidate], request: SearchRequest
) -> tuple[list[AnyResult], dict[str, Any]]:
    """Every shape's result, and what was asked for beyond them."""
    kind, argument = choose(request.proposer, request.question.science.model)
    recipes = usable(run, candidates, may_be_none=kind.needs != "recipes")
    context = SearchContext(run, recipes, shapes, request.question, argument)
    results: list[AnyResult] = []
    profiles: list[dict[str, Any]] = []
    with kind.open(context) as session:
        for number, dims in enumerate(shapes):
            if dims_label(dims) in request.done:
                results.append(request.done[dims_label(dims)])
                continue
            told = {"dims": dims, "trials": run.settings.max_trials, "number": number, "shapes": len(shapes)}
            run.emit(Event("stage", f"{run.task.name} {dims_label(dims)}", told))
            stage = run.stage(dims)
            try:
                shape = ShapeContext(context, dims, run.settings.seed + number, _warm(run, dims, request.borrowed))
                budget = _budget(run, dims, len(shapes), request)
                with session.proposer(shape) as proposer:
                    results.append(search_shape(run, stage, proposer, budget, kind.in_order))
                if request.profiled and (best := results[-1].trial) is not None:
                    profiles.append(kinds.PROFILE.plain(profile_trial(run, stage, best)))
            finally:
                stage.close()
        return results, {**({"profiles": profiles} if request.profiled else {}), **session.extras()}


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
