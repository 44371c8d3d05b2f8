"""What a run's ledger says of its soft verifiers, and its trials as labelled ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernellab.core.errors import UsageError
from kernellab.core.ids import canonical_json
from kernellab.core.records import Confirmation, DuplicateTrial
from kernellab.core.targets import backend_of
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.search.archive import AnyTrial
from kernellab.search.soft.fate import Fate, fate_of
from kernellab.search.soft.labelled import Labelled, LabelledSet
from kernellab.search.soft.look import SOFT, Looked
from kernellab.search.soft.score import Judged, Score, score

_Name = tuple[str, bytes]


@dataclass(frozen=True)
class _History:
    """Looks by candidate (the last one stands), trials in order, confirmations."""

    looks: dict[_Name, Looked]
    trials: list[AnyTrial]
    confirmations: list[Confirmation]

    def fate(self, trial: AnyTrial) -> Fate | None:
        if isinstance(trial, DuplicateTrial):
            trial = self.trials[trial.of]
        return fate_of(trial, self.confirmations)

    def tried(self) -> dict[_Name, list[AnyTrial]]:
        found: dict[_Name, list[AnyTrial]] = {}
        for trial in self.trials:
            found.setdefault(_name(trial.proposal.source, trial.proposal.params), []).append(trial)
        return found


def judged_looks(folder: Path) -> list[Judged]:
    """Every look with its candidate's fate: the first failure at any shape, the time of all its trials."""
    history = _read(folder)
    tried = history.tried()
    return [_judged(history, looked, tried.get(name, ())) for name, looked in history.looks.items()]


def report(folder: Path) -> Score:
    judged = judged_looks(folder)
    if not judged:
        raise UsageError(f"{folder} holds no looks of soft verifiers", "name a run that was made with soft verifiers")
    return score(judged)


def labelled_of_run(folder: Path) -> LabelledSet:
    """A run's trials as labelled ones; all candidates of one name are one family."""
    history, store = _read(folder), Store(folder)
    rows: dict[tuple[str, _Name], Labelled] = {}
    for trial in history.trials:
        fate, proposal = history.fate(trial), trial.proposal
        if fate is None:
            continue
        text = store.get(proposal.source).decode("utf-8", "replace")
        key = trial.task, _name(proposal.source, proposal.params)
        if key not in rows or fate.failed:
            rows[key] = Labelled(
                source=proposal.source, task=trial.task, backend=backend_of(text), params=proposal.params,
                family=proposal.name, origin=proposal.name, fate=fate, wall_s=trial.wall_s,
            )  # fmt: skip
    sources = {row.source: store.get(row.source).decode("utf-8", "replace") for row in rows.values()}
    return LabelledSet(tuple(rows.values()), sources)


def _judged(history: _History, looked: Looked, trials: Sequence[AnyTrial]) -> Judged:
    fates = [fate for trial in trials if (fate := history.fate(trial)) is not None]
    fate = next((f for f in fates if f.failed), fates[0] if fates else None)
    return Judged(looked.look, fate, sum(t.wall_s for t in trials))


def _read(folder: Path) -> _History:
    run = Run(folder)
    looks = {_name(looked.source, looked.params): looked for looked in run.records(SOFT)}
    return _History(looks, run.trials, run.confirmations)


def _name(source: str, params: object) -> _Name:
    return source, canonical_json(params)
