"""The experiment that a hypothesis asks for: which kernels at which shapes, in which order, in which replicate.

Decided by the file and the candidates' own spaces alone, so that a run that was interrupted goes on with the same plan.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernellab.build.base import Candidate
from kernellab.core.errors import UsageError
from kernellab.core.ids import canonical_json, digest, sha256_hex
from kernellab.core.records import AnyTrial, Param
from kernellab.propose.base import Idea
from kernellab.propose.recipe import Recipe, builtin_candidates, read_candidate
from kernellab.studies.hypothesis import Hypothesis, Population
from kernellab.studies.statistics import STATISTICS
from kernellab.tasks.load import is_task_file, load_task
from kernellab.tasks.spec import Dims, Task, dims_label, parse_dims

_MOST = 1_000_000
"""Combinations of one candidate, and trials of one task, that are still a plan."""


@dataclass(frozen=True)
class StudyTask:
    """One task of a population with its shapes and candidates. `locator` finds the task again."""

    population: Population
    task: Task
    locator: str
    shapes: tuple[Dims, ...]
    candidates: tuple[Candidate, ...]

    @property
    def examined(self) -> tuple[str, ...]:
        return tuple(self.population.distributions)


@dataclass(frozen=True)
class Cell:
    """One shape in one replicate: what is tried there, in this order."""

    dims: Dims
    seed: int
    ideas: tuple[Idea, ...]


def study_tasks_of(hypothesis: Hypothesis, device: str, home: Path) -> list[StudyTask]:
    """The population on this kind of device; `home`: the folder in which files are looked for."""
    found = []
    for population in hypothesis.on(device):
        for name, dtype in itertools.product(population.tasks, population.dtypes or [""]):
            locator = str(home / name) if is_task_file(name) else name
            task = load_task(locator, dtype)
            locator = locator if is_task_file(name) else task.name
            shapes = tuple(parse_dims(s, task) for s in population.shapes)
            unknown = [d for d in population.distributions if d not in task.distributions]
            if unknown:
                raise UsageError(f"task {task.name} has no distribution '{unknown[0]}'",
                                 f"it has: {', '.join(task.distributions)}")  # fmt: skip
            found.append(
                StudyTask(population, task.on(device), locator, shapes, _candidates(population, task.name, home))
            )
    if not found:
        known = ", ".join(sorted({p.device for p in hypothesis.population}))
        raise UsageError(
            f"hypothesis {hypothesis.id} says nothing of --device {device}", f"it has populations for: {known}"
        )
    return sorted(found, key=lambda w: not is_task_file(w.locator))  # the run's own task is the file, which it copies


def borrows(hypothesis: Hypothesis, device: str) -> bool:
    """Whether its trials are kernels of other runs."""
    return any(STATISTICS[p.statistic].borrows for p in hypothesis.parts(device))


def cells_of(
    hypothesis: Hypothesis, population: Population, shapes: Sequence[Dims], recipes: Sequence[Recipe]
) -> list[Cell]:
    """Replicate by replicate, so that a slow drift of the machine falls on all shapes and kernels alike."""
    ideas = [idea for recipe in recipes for idea in _ideas(hypothesis, population, recipe)]
    if not ideas:
        raise UsageError(f"the space of hypothesis {hypothesis.id} leaves no combination", "widen its 'space'")
    _refuse_endless(len(ideas) * len(shapes) * len(hypothesis.seeds), hypothesis)
    cells = []
    for seed in hypothesis.seeds:
        for number, dims in enumerate(shapes):
            order = list(ideas)
            random.Random(f"{seed} {number}").shuffle(order)
            cells.append(Cell(dims, seed, tuple(order)))
    return cells


def refuse_unknown(hypothesis: Hypothesis, device: str, plan: Sequence[tuple[StudyTask, Sequence[Recipe]]]) -> None:
    """Parameters and choices that the hypothesis names and no candidate has: it would speak of what is never tried."""
    every: dict[str, list[Param]] = {}
    for study_task, recipes in plan:
        known: dict[str, list[Param]] = {}
        for recipe in recipes:
            for name, choices in recipe.space.items():
                known.setdefault(name, []).extend(choices)
                every.setdefault(name, []).extend(choices)
        population = study_task.population
        for name in [*population.space, *filter(None, [population.vary])]:
            _refuse_name(name, [], known, f"population on '{device}'")
    for part in hypothesis.parts(device):
        options = STATISTICS[part.statistic].options.model_validate(part.options)
        for name, choices in [*options.named().items(), *((k, [v]) for k, v in part.where.items())]:
            _refuse_name(name, choices, every, f"part '{part.name}'")


def _refuse_name(name: str, choices: Sequence[Param], known: Mapping[str, list[Param]], where: str) -> None:
    if name not in known:
        raise UsageError(f"{where}: no candidate has a parameter '{name}'", f"there are: {', '.join(known) or 'none'}")
    for choice in choices:
        if choice not in known[name]:
            raise UsageError(f"{where}: no candidate has the choice {name}={choice}",
                             f"its choices: {', '.join(map(str, dict.fromkeys(known[name])))}")  # fmt: skip


def key_of(task: str, dims: Dims, seed: int, idea: Idea) -> str:
    """What names a planned trial; the same of the record that came of it."""
    return _key(task, dims, seed, sha256_hex(idea.candidate.text.encode()), idea.candidate.name, idea.params)


def key_of_trial(trial: AnyTrial, seed: int | None = None) -> str:
    """`seed`: the key that the same kernel has in another replicate."""
    what = trial.proposal
    return _key(trial.task, trial.dims, trial.seed if seed is None else seed, what.source, what.name, what.params)


def inputs_of(hypothesis: Hypothesis, task: str, dims: Dims, seed: int, distribution: str) -> bytes:
    """The seed of the inputs on which a kernel is examined: anyone can draw them again."""
    shape = dims_label(dict(sorted(dims.items())))
    return hashlib.sha256(canonical_json([hypothesis.digest, seed, task, shape, distribution])).digest()


def _key(task: str, dims: Dims, seed: int, source: str, name: str, params: Mapping[str, Param]) -> str:
    return digest([task, dims_label(dict(sorted(dims.items()))), seed, source, name, dict(params)])


def _candidates(population: Population, task: str, home: Path) -> tuple[Candidate, ...]:
    builtin = {c.name: c for c in builtin_candidates(task, population.device)}
    if not population.candidates:
        return tuple(builtin.values())
    found = []
    for name in population.candidates:
        if name.endswith(".py"):
            found.append(read_candidate(home / name))
        elif name in builtin:
            found.append(builtin[name])
        else:
            raise UsageError(f"task {task} has no built-in candidate '{name}' for {population.device}",
                             f"it has: {', '.join(builtin) or 'none'}; a file of yours ends in .py")  # fmt: skip
    return tuple(found)


def _ideas(hypothesis: Hypothesis, population: Population, recipe: Recipe) -> list[Idea]:
    space = {name: _restricted(recipe, name, choices, population) for name, choices in recipe.space.items()}
    held = {k: v for k, v in space.items() if k != population.vary}
    _refuse_endless(math.prod(len(choices) for choices in held.values()), hypothesis)
    contexts = [dict(zip(held, values, strict=True)) for values in itertools.product(*held.values())]
    if len(contexts) > population.most:
        contexts = random.Random(hypothesis.seeds[0]).sample(contexts, population.most)
    varied: list[dict[str, Param]] = [{population.vary: v} for v in space.get(population.vary, [])] or [{}]
    why = f"asked for by hypothesis {hypothesis.id}"
    return [Idea(recipe.candidate, {**context, **one}, why) for context in contexts for one in varied]


def _refuse_endless(number: int, hypothesis: Hypothesis) -> None:
    """Somebody else's ledger must not keep an auditor counting for ever."""
    if number > _MOST:
        raise UsageError(
            f"hypothesis {hypothesis.id} asks for {number} combinations", "restrict its 'space' or 'seeds'"
        )


def _restricted(recipe: Recipe, name: str, choices: list[Param], population: Population) -> list[Param]:
    wanted = population.space.get(name)
    if wanted is None:
        return _once(choices)
    unknown = [v for v in wanted if v not in choices]
    if unknown:
        raise UsageError(
            f"{recipe.name} has no choice {name}={unknown[0]}", f"its choices: {', '.join(map(str, choices))}"
        )
    return _once(wanted)


def _once(choices: Sequence[Param]) -> list[Param]:
    return list({(type(c), c): c for c in choices}.values())
