"""Specialists to be made one: models trained on rewards, from one base, each with the ledgers of what it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from kernellab.core.errors import UsageError
from kernellab.learn.lm.model import require_model, weights_of
from kernellab.learn.lm.trained import Training, stopped_at, training_in
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.reward_records import REWARD_EXAM
from kernellab.ledger.run import Run

_FIX = "give folders that klab learn grpo wrote"


@dataclass(frozen=True)
class Specialist:
    """`ledgers`: of its training, then of its exams."""

    folder: Path
    training: Training
    ledgers: tuple[Path, ...]

    @property
    def run(self) -> str:
        """Of the rewards that it was trained on."""
        return str(self.training.settings.get("rewards_run", ""))


def read_specialists(folders: Sequence[Path], more: Sequence[Path] = ()) -> list[Specialist]:
    """`more`: ledgers of their exams, and of a training whose rewards lie elsewhere than its record says."""
    trainings = {folder: _trained_on_rewards(folder) for folder in folders}
    if len(trainings) < len(folders):
        raise UsageError(f"{_twice(folders)} is given twice", "give each specialist once")
    found = [Specialist(folder, training, ()) for folder, training in trainings.items()]
    for one, other in combinations(found, 2):
        _refuse_pair(one, other)
    given = {Run(ledger).first.run: ledger for ledger in more}
    for run, ledger in given.items():
        if run not in {one.run for one in found} and _examined(ledger) not in {one.training.digest for one in found}:
            raise UsageError(f"{ledger} holds no replies of these specialists", "give ledgers of their own")
    return [Specialist(one.folder, one.training, _ledgers(one, given)) for one in found]


def base_of(specialists: Sequence[Specialist], given: Path | None) -> Path:
    """The model that all of them came from; without a given one, where their records say that it was."""
    first = specialists[0]
    folder = given or Path(first.training.origin)
    if given is None and not folder.is_dir():
        raise UsageError(f"the model that {first.folder} came from is not at {folder}", "say where it is: --from DIR")
    if weights_of(require_model(folder)) != first.training.base:
        raise UsageError(
            f"{folder} is not the model that {first.folder} came from: its weights differ",
            f"give the one with --from; its record names {first.training.origin}",
        )
    return folder


def _trained_on_rewards(folder: Path) -> Training:
    training = training_in(folder)
    if training is None:
        step = stopped_at(folder)
        if step is not None:
            raise UsageError(
                f"{folder} is no specialist yet: its training was stopped at step {step}", "let it go on to its end"
            )
        raise UsageError(f"{folder} is no specialist: it holds no record of a training", _FIX)
    if training.kind != "grpo":
        raise UsageError(f"{folder} is no specialist: it was made by {training.kind}, on no rewards", _FIX)
    return training


def _twice(folders: Sequence[Path]) -> Path:
    return next(folder for number, folder in enumerate(folders) if folder in folders[:number])


def _refuse_pair(one: Specialist, other: Specialist) -> None:
    if one.training.digest == other.training.digest:
        raise UsageError(f"{one.folder} and {other.folder} are the same specialist", "give each once")
    if one.training.base != other.training.base:
        raise UsageError(
            f"{one.folder} and {other.folder} have different bases: {one.training.origin} and {other.training.origin}",
            "give specialists of one base",
        )
    if one.run and one.run == other.run:
        raise UsageError(
            f"{one.folder} and {other.folder} were trained on one ledger of rewards, which does not tell their replies "
            "apart", "give one of them",
        )  # fmt: skip


def _examined(ledger: Path) -> str:
    """Whose exam it is, by the record of that model's training; "" for none."""
    found = Run(ledger).records(REWARD_EXAM)
    return found[0].record if found else ""


def _ledgers(one: Specialist, given: dict[str, Path]) -> tuple[Path, ...]:
    recorded = Path(str(one.training.settings.get("rewards", "")))
    own = given.get(one.run) or recorded
    if not (own / LEDGER_FILE).is_file() or Run(own).first.run != one.run:
        raise UsageError(f"the rewards of {one.folder} are not at {own}", "say where they are: --rewards RUN")
    exams = (ledger for run, ledger in given.items() if run != one.run and _examined(ledger) == one.training.digest)
    return (own, *exams)
