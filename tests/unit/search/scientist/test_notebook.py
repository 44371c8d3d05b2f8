"""What is written once stays, and a cut generation is taken up again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernellab.core.errors import LedgerFault
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import SigningKey
from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.run import Run
from kernellab.propose.prompts import FormatFailure
from kernellab.search.scientist.notebook import Closed, Generation, Note, Notebook, Selected, Unread, notes_of

DIMS = {"N": 4}


class Book:
    def __init__(self, entries: list[Note] | None = None) -> None:
        self.entries: list[Note] = list(entries or [])
        self.kinds: list[str] = []
        self.notebook = Notebook(self.append, list(self.entries))

    def append(self, kind: EntryKind[Any], record: Any) -> None:
        self.kinds.append(kind.name)
        self.entries.append(record)


def test_a_note_is_written_once() -> None:
    book = Book()
    generation = book.notebook.begin("t", DIMS, "improve", 3)
    for _ in range(2):
        book.notebook.write(generation)
        book.notebook.write(Selected(generation=0, base=1, reference=None, why="w", by="model"))
    assert book.kinds == ["generation", "selection"]


def test_a_generation_that_was_cut_is_taken_up_with_what_it_knew() -> None:
    first = Book()
    first.notebook.write(first.notebook.begin("t", DIMS, "improve", 3).model_copy(update={"shown": (0, 2)}))
    again = Book(first.entries).notebook.begin("t", DIMS, "improve", 9)
    assert (again.generation, again.first_trial, again.shown) == (0, 3, (0, 2))


def test_the_next_one_begins_when_the_last_is_closed_and_another_shape_has_its_own() -> None:
    book = Book()
    book.notebook.write(book.notebook.begin("t", DIMS, "improve", 3))
    assert book.notebook.begin("t", {"N": 5}, "improve", 7).generation == 1
    assert book.notebook.begin("t", DIMS, "translate", 7).generation == 1
    book.notebook.write(Closed(generation=0))
    assert Book(book.entries).notebook.begin("t", DIMS, "improve", 7).generation == 1


def test_translating_is_over_when_its_generation_is() -> None:
    book = Book()
    book.notebook.write(book.notebook.begin("t", DIMS, "translate", 0))
    assert not book.notebook.translated("t", DIMS)
    book.notebook.write(Closed(generation=0))
    assert book.notebook.translated("t", DIMS)
    assert not book.notebook.translated("t", {"N": 5})


def test_each_unread_reply_has_its_own_place() -> None:
    book = Book()
    failure = FormatFailure(expected="write", fault="empty", what="the reply is empty", excerpt="")
    for call in (10, 11, 11):
        book.notebook.write(Unread(generation=0, call=call, failure=failure))
    assert [note.call for note in book.entries if isinstance(note, Unread)] == [10, 11]


def test_what_was_written_is_read_again_from_the_ledger_and_what_is_no_note_is_refused(tmp_path: Path) -> None:
    written = Generation(generation=0, task="t", dims=DIMS, purpose="improve", first_trial=0)
    with Ledger.create(tmp_path / "run", {}, SigningKey.generate()) as ledger:
        Notebook(ledger.write).write(written)
        assert notes_of(Run(tmp_path / "run")) == [written]
        ledger.append("generation", {"generation": 0})
    with pytest.raises(LedgerFault, match=r"entry 2 \(generation\): task: Field required"):
        notes_of(Run(tmp_path / "run"))
