"""What is written once stays, and a cut generation is taken up again."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from kernellab.propose.prompts import FormatFailure
from kernellab.search.scientist.notebook import Closed, Generation, Notebook, Selected, Unread, read_note

DIMS = {"N": 4}


class Book:
    def __init__(self, entries: list[tuple[str, dict[str, Any]]] | None = None) -> None:
        self.entries = list(entries or [])
        self.notebook = Notebook(lambda kind, body: self.entries.append((kind, body)), list(self.entries))


def test_a_note_is_written_once() -> None:
    book = Book()
    generation = book.notebook.begin("t", DIMS, "improve", 3)
    for _ in range(2):
        book.notebook.write(generation)
        book.notebook.write(Selected(generation=0, base=1, reference=None, why="w", by="model"))
    assert [kind for kind, _ in book.entries] == ["generation", "selection"]


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
    assert [body["call"] for _, body in book.entries] == [10, 11]


def test_an_entry_that_is_no_note_is_refused() -> None:
    with pytest.raises(ValidationError):
        read_note("generation", {"generation": 0})
    body = Generation(generation=0, task="t", dims=DIMS, purpose="improve", first_trial=0).model_dump(exclude={"kind"})
    assert read_note("generation", body).generation == 0
