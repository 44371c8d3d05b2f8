"""Recorded runs as spaces: for each task and shape the candidates that were generated for it, and what came of each trial.

Covered: failures are kept; what an equal artifact came to counts for its equals. Left out, and counted by reason: trials
that were not timed because the machine was busy, candidates that were not generated, those of another version of the
generator that has no plan of that name any more, and runs of tasks without a graph.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernellab.core.errors import UsageError
from kernellab.core.records import AnyTrial, Dims, MeasuredTrial, Param, UntimedTrial
from kernellab.learn.book import RewardBook
from kernellab.ledger.check import require_sound
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.run import Run
from kernellab.lower.tensors import Written
from kernellab.propose.generated import generated_candidates
from kernellab.propose.recipe import space_in
from kernellab.search.experiment_run import task_of
from kernellab.search.prior.features import Site
from kernellab.search.prior.rates import rates_of
from kernellab.tasks.spec import dims_label
from kernellab.tasks.suites.formulas import structure_in

_DTYPE = re.compile(r"-(f32|f16|bf16|f64|float\w+|bfloat16)(?=-|$)")
_DIRECTION = "-backward"


@dataclass(frozen=True)
class Tried:
    """`speedup` over the run's fastest baseline; None for what did not build or is wrong. `candidate`: its place among
    what was written."""

    candidate: int
    params: dict[str, Param]
    speedup: float | None


@dataclass(frozen=True)
class RecordedSpace:
    """One task at one shape. `structure`: what stays the same where only numbers, sizes or the type differ."""

    task: str
    structure: str
    dims: Dims
    kind: str
    site: Site
    tried: tuple[Tried, ...]
    run: str

    @property
    def label(self) -> str:
        return f"{self.task} {dims_label(self.dims)}"


@dataclass
class Recorded:
    spaces: list[RecordedSpace] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def read_spaces(folders: Sequence[Path]) -> Recorded:
    """Of runs, and of folders that hold runs. A run whose ledger is not sound is refused."""
    made = Recorded()
    for folder in [run for given in folders for run in runs_in(given)]:
        require_sound(folder)
        _read(Run(folder), made)
    return made


def runs_in(folder: Path) -> list[Path]:
    """The folder itself, or all below it that hold a run with trials."""
    found = sorted(path.parent for path in folder.rglob(LEDGER_FILE))
    return [run for run in found if "task" in Run(run).first.body] or [folder]


def structure_of(task: str) -> str:
    """A formula's structure; of any other task its name without its type and direction."""
    return structure_in(task) or _DTYPE.sub("", task).removesuffix(_DIRECTION)


def _read(run: Run, made: Recorded) -> None:
    try:
        task, _ = task_of(run.folder)
    except UsageError:  # a ledger that is sound, of a task that has changed since
        made.left_out["of a task that this version has otherwise"] += len(run.trials)
        return
    device = run.genesis.settings.device
    written = generated_candidates(task, device).written
    if not written:
        made.left_out["of a task without generated candidates"] += len(run.trials)
        return
    matched = _Matched(run, written)
    book = RewardBook(run.trials)
    by_shape: dict[str, list[AnyTrial]] = {}
    for trial in run.trials:
        by_shape.setdefault(dims_label(trial.dims), []).append(trial)
    for trials in by_shape.values():
        tried = tuple(_tried(trials, book, matched, made.left_out))
        first = trials[0]
        rates = rates_of(first.device, run.genesis.settings.threads)
        site = Site(dict(first.dims), rates, written, matched.spaces)
        if tried:
            made.spaces.append(
                RecordedSpace(
                    task.name, structure_of(task.name), dict(first.dims), rates.kind, site, tried, run.first.run
                )
            )


def _tried(trials: Sequence[AnyTrial], book: RewardBook, matched: _Matched, left_out: Counter[str]) -> Iterator[Tried]:
    for trial in trials:
        settled = book.settled(trial.trial)
        place = matched.place(trial)
        if place is None:
            left_out["not by this generator"] += 1
        elif isinstance(settled, UntimedTrial):
            left_out["not timed, the machine was busy"] += 1
        else:
            speedup = settled.timing.speedup if isinstance(settled, MeasuredTrial) else None
            yield Tried(place, dict(trial.proposal.params), speedup)


class _Matched:
    """Which of today's plans a recorded candidate follows: the one of its text, else of its name and parameters. `spaces`:
    the choices as they were then, in their order."""

    def __init__(self, run: Run, written: Sequence[Written]) -> None:
        self._places: dict[str, int] = {}
        self.spaces = [space_in(w.text) for w in written]
        texts, names = {w.text: i for i, w in enumerate(written)}, {w.name: i for i, w in enumerate(written)}
        for kept in run.start.candidates:
            text = run.store.get(kept.source).decode()
            place = texts.get(text, names.get(kept.name))
            if place is None or kept.name != written[place].name:
                continue
            if set(own := space_in(text)) == set(self.spaces[place]):
                self._places[kept.source], self.spaces[place] = place, own

    def place(self, trial: AnyTrial) -> int | None:
        return self._places.get(trial.proposal.source)
