"""The notebook: what the scientist decided and what came of it, each written to the ledger once.

A generation that was cut is gone through again on resume: its calls are answered by the journal, its trials by the archive,
and what stands here already is not written a second time. Closed generations are never looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from kernellab.core.ids import canonical_json
from kernellab.core.records import Dims, Record, dump
from kernellab.propose.prompts import FormatFailure
from kernellab.propose.prompts.replies import ExperimentReply
from kernellab.search.soft.look import SOFT, Looked

Verdict = Literal["held", "refuted", "undecided"]


class Generation(Record):
    """`first_trial`: how many trials there were when it began, which is all that its prompts may know of."""

    kind: Literal["generation"] = "generation"
    generation: int
    task: str
    dims: Dims
    purpose: Literal["improve", "translate"]
    first_trial: int
    shown: tuple[int, ...] = ()


class Selected(Record):
    """`by` "system": no reply of the model's could be used, `why` says so."""

    kind: Literal["selection"] = "selection"
    generation: int
    base: int
    reference: int | None
    why: str
    by: Literal["model", "system"]


class Designed(Record):
    """`chosen` are the places of those carried out, in that order, each with why: promising or novel."""

    kind: Literal["design"] = "design"
    generation: int
    experiments: list[ExperimentReply]
    chosen: list[int]
    reasons: list[Literal["promising", "novel"]]


class Unread(Record):
    """A reply that could not be read."""

    kind: Literal["unread"] = "unread"
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

    kind: Literal["experiment"] = "experiment"
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
    kind: Literal["generation-end"] = "generation-end"
    generation: int


Note = Generation | Selected | Designed | Unread | Tested | Closed
_NOTE: TypeAdapter[Note] = TypeAdapter(Annotated[Note, Field(discriminator="kind")])
KINDS = ("generation", "selection", "design", "unread", "experiment", "generation-end")


class Notebook:
    """`append` writes to the ledger; `entries` are those of the run's earlier part."""

    def __init__(self, append: Callable[[str, dict[str, Any]], object], entries: Iterable[tuple[str, dict[str, Any]]]):
        self._append = append
        self._written: dict[tuple[str, ...], Note] = {}
        self._looks: set[tuple[str, ...]] = set()
        for kind, body in entries:
            if kind == SOFT:
                self._looks.add((SOFT, str(body["source"]), canonical_json(body["params"]).decode()))
            elif kind in KINDS:
                note = read_note(kind, body)
                self._written[_key(note)] = note

    def write(self, note: Note) -> None:
        """Once: what stands there already stays."""
        if _key(note) not in self._written:
            self._append(note.kind, {k: v for k, v in dump(note).items() if k != "kind"})
            self._written[_key(note)] = note

    def look(self, looked: Looked) -> None:
        """What a soft verifier said of a text, once."""
        key = (SOFT, looked.source, canonical_json(looked.params).decode())
        if key not in self._looks:
            self._append(SOFT, dump(looked))
            self._looks.add(key)

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


def read_note(kind: str, body: dict[str, Any]) -> Note:
    return _NOTE.validate_python({"kind": kind, **body})


def _key(note: Note) -> tuple[str, ...]:
    place = str(note.number) if isinstance(note, Tested) else str(note.call) if isinstance(note, Unread) else ""
    return note.kind, str(note.generation), place
