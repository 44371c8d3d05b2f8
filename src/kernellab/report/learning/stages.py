"""A model's folder as a stage: what kind of training made it, from what, and what is on record of it.

A loss is in no ledger: it is told as the folder's record has it. What was judged is counted in the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from kernellab.core.errors import UsageError
from kernellab.learn.lm.model import weights_of
from kernellab.learn.lm.trained import Training, training_in
from kernellab.report.learning.ledgers import Judged

ORDER = ("base", "SFT", "specialist", "distilled", "generalist")
_NAMES = {"sft": "SFT", "distil": "distilled"}
_POINTS = 8


class Source(BaseModel):
    """A ledger that a distillation took replies from, as its record has it."""

    folder: str
    root: str
    replies: int
    left_out: dict[str, int]


class _Specialist(BaseModel):
    ledgers: list[Source]


class _Corpus(BaseModel):
    specialists: list[_Specialist] = []


@dataclass(frozen=True)
class Stage:
    """`weights`: their digest, of a model that was not trained here."""

    kind: str
    folder: Path
    training: Training | None = None
    weights: str = ""
    judged: Judged | None = None

    @property
    def rank(self) -> int:
        return ORDER.index(self.kind) if self.kind in ORDER else len(ORDER)

    @property
    def lessons(self) -> int | None:
        found = self.training.settings.get("lessons") if self.training else None
        return found if isinstance(found, int) else None

    @property
    def sources(self) -> list[Source]:
        """Of a distilled model: where its lessons come from."""
        try:
            found = _Corpus.model_validate(self.training.settings if self.training else {})
        except ValidationError:
            raise UsageError(f"the record of {self.folder} does not say what it was taught", "give another") from None
        return [ledger for one in found.specialists for ledger in one.ledgers]

    @property
    def losses(self) -> list[tuple[int, float]]:
        """By step: a few, the first and the last among them."""
        curve = [row for row in self.training.curve if {"step", "loss"} <= row.keys()] if self.training else []
        step = max(1, -(-len(curve) // _POINTS))
        kept = curve[:-1:step] + curve[-1:]
        return [(int(row["step"]), row["loss"]) for row in kept]


def stage_of(folder: Path, trainings: Mapping[str, Training]) -> Stage:
    """`trainings`: of all folders that are told of, by their digests."""
    training = training_in(folder)
    if training is None:
        return Stage("base", folder, weights=weights_of(folder))
    return Stage(_kind(training, trainings), folder, training)


def _kind(training: Training, trainings: Mapping[str, Training]) -> str:
    """Rewards make a specialist of a model, and a generalist of one that was distilled."""
    if training.kind != "grpo":
        return _NAMES.get(training.kind, training.kind)
    parent = trainings.get(training.parent) or _parent_at(training)
    return "generalist" if parent is not None and parent.kind == "distil" else "specialist"


def _parent_at(training: Training) -> Training | None:
    """Where the record says that it was, if that is still the same."""
    found = training_in(Path(training.origin))
    return found if found is not None and found.digest == training.parent else None


def examined(stages: Sequence[Stage], record: str, weights: str) -> Stage | None:
    """The stage whose model an exam names."""
    for stage in stages:
        if stage.training.digest == record if stage.training else (not record and stage.weights == weights):
            return stage
    return None
