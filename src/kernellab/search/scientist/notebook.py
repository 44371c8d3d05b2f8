"""The notebook: what the scientist decided and what came of it, each written to the ledger once.

A generation that was cut is gone through again on resume: its calls are answered by the journal, its trials by the archive,
and what stands here already is not written a second time. Closed generations are never looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import TypeAdapter

from kernellab.core.ids import canonical_json
from kernellab.core.records import Dims, Record
from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.run import Run
from kernellab.propose.models.journal import Append
from kernellab.propose.prompts import FormatFailure
from kernellab.propose.prompts.replies import ExperimentReply
from kernellab.search.soft.look import SOFT, Looked

Verdict = Literal["held", "refuted", "undecided"]


class Generation(Record):
    """`first_trial`: how many trials there were when it began, which is all that its prompts may know of."""

    generation: int
    task: str
    dims: Dims
    purpose: Literal["improve", "translate"]
    first_trial: int
    shown: tuple[int, ...] = ()


class Selected(Record):
    """`by` "system": no reply of the model's could be used, `why` says so."""

    generation: int
    base: int
    reference: int | None
    why: str
    by: Literal["model", "system"]


class Designed(Record):
    """`chosen` are the places of those carried out, in that order, each with why: promising or novel."""

    generation: int
    experiments: list[ExperimentReply]
    chosen: list[int]
    reasons: list[Literal["promising", "novel"]]


class Unread(Record):
    """A reply that could not be read."""

    generation: int
    call: int
    failure: FormatFailure


class Attempt(Record):
    """One text for an experiment: its hash where code came, and how it failed if it did."""

    call: int
    source: str = ""
    failed: str = ""


class Effect(Record):
    value: float
    low: float
    high: float


class Tested(Record):
    """An experiment and its verdict from the numbers. `effect`: the best of its trials over the base, each against the
    same baseline; `base` and `trials` are trial numbers. None of them: what could not be compared."""

    generation: int
    number: int
    purpose: Literal["improve", "translate"]
    experiment: ExperimentReply | None
    base: int | None
    attempts: list[Attempt]
    trials: list[int]
    best: int | None
    effect: Effect | None
    verdict: Verdict
    reason: str
    device: str
    task: str
    dims: Dims


class Closed(Record):
    generation: int


Note = Generation | Selected | Designed | Unread | Tested | Closed
TESTED = EntryKind("experiment", TypeAdapter(Tested))
KIND_OF: dict[type[Note], EntryKind[Any]] = {
    Generation: EntryKind("generation", TypeAdapter(Generation)),
    Selected: EntryKind("selection", TypeAdapter(Selected)),
    Designed: EntryKind("design", TypeAdapter(Designed)),
    Unread: EntryKind("unread", TypeAdapter(Unread)),
    Tested: TESTED,
    Closed: EntryKind("generation-end", TypeAdapter(Closed)),
}


def notes_of(run: Run) -> list[Note | Looked]:
    """What a scientist wrote into a run's ledger, in its order."""
    return [entry.record for entry in run.in_order(*KIND_OF.values(), SOFT)]


class Notebook:
    """`append` writes to the ledger; `entries` are those of the run's earlier part."""

    def __init__(self, append: Append, entries: Iterable[Note | Looked] = ()):
        self._append = append
        self._written: dict[tuple[str, ...], Note] = {}
        self._looks: set[tuple[str, str]] = set()
        for entry in entries:
            if isinstance(entry, Looked):
                self._looks.add(_text_of(entry))
            else:
                self._written[_key(entry)] = entry

    def write(self, note: Note) -> None:
        """Once: what stands there already stays."""
        if _key(note) not in self._written:
            self._append(KIND_OF[type(note)], note)
            self._written[_key(note)] = note

    def look(self, looked: Looked) -> None:
        """What a soft verifier said of a text, once."""
        if _text_of(looked) not in self._looks:
            self._append(SOFT, looked)
            self._looks.add(_text_of(looked))

    def begin(self, task: str, dims: Dims, purpose: Literal["improve", "translate"], trials: int) -> Generation:
        """The generation that was cut here, or the next one."""
        for note in self.generations:
            same = (note.task, note.dims, note.purpose) == (task, dims, purpose)
            if same and not self.closed(note.generation):
                return note
        return Generation(
            generation=len(self.generations), task=task, dims=dims, purpose=purpose, first_trial=trials
        )  # fmt: skip

    def closed(self, generation: int) -> bool:
        return _key(Closed(generation=generation)) in self._written

    def translated(self, task: str, dims: Dims) -> bool:
        """Whether translating has been tried here to its end."""
        mine = [g for g in self.generations if g.purpose == "translate" and g.task == task and g.dims == dims]
        return any(self.closed(g.generation) for g in mine)

    @property
    def generations(self) -> list[Generation]:
        return [n for n in self._written.values() if isinstance(n, Generation)]

    @property
    def tested(self) -> list[Tested]:
        return [n for n in self._written.values() if isinstance(n, Tested)]

    def verdict_on(self, generation: int, number: int) -> Tested | None:
        return next((t for t in self.tested if (t.generation, t.number) == (generation, number)), None)


def _text_of(looked: Looked) -> tuple[str, str]:
    return looked.source, canonical_json(looked.params).decode()


def _key(note: Note) -> tuple[str, ...]:
    place = str(note.number) if isinstance(note, Tested) else str(note.call) if isinstance(note, Unread) else ""
    return KIND_OF[type(note)].name, str(note.generation), place
