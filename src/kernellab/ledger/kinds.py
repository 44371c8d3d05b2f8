"""Kinds of ledger entries: the name that an entry bears, and the record that its body is.

A kind stands beside its record: the laboratory's own are here, a model's calls, a scientist's notes and a study's entries
in their folders. Reading and writing go through the same record. Entries are never written again, so a record reads
everything that was ever written under its name: what came later has a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from kernellab.core.records import TRIAL as ANY_TRIAL
from kernellab.core.records import AnyTrial
from kernellab.core.records import Confirmation as ConfirmationRecord
from kernellab.ledger import records
from kernellab.ledger.entry import ADOPTED as ADOPTED_NAME
from kernellab.ledger.entry import END as END_NAME
from kernellab.ledger.entry import GENESIS as GENESIS_NAME

T = TypeVar("T")


@dataclass(frozen=True)
class EntryKind(Generic[T]):
    """`form` reads a body into its record, and turns a record into a body."""

    name: str
    form: TypeAdapter[T]

    def read(self, body: Mapping[str, Any]) -> T:
        """ValidationError says what is not as it should be."""
        return self.form.validate_python(body)

    def plain(self, record: T) -> dict[str, Any]:
        plain: dict[str, Any] = self.form.dump_python(record, mode="json")
        return plain


GENESIS = EntryKind[records.AnyGenesis](GENESIS_NAME, records.ANY_GENESIS)
RESUME = EntryKind("resume", TypeAdapter(records.Resume))
ADOPTED = EntryKind(ADOPTED_NAME, TypeAdapter(records.Adopted))
NOTE = EntryKind("note", TypeAdapter(records.Note))
CALIBRATION = EntryKind("calibration", TypeAdapter(records.Calibration))
TRIAL = EntryKind[AnyTrial]("trial", ANY_TRIAL)
LISTING = EntryKind("listing", TypeAdapter(records.Listing))
CONFIRMATION = EntryKind("confirmation", TypeAdapter(ConfirmationRecord))
RESULT = EntryKind[records.AnyResult]("result", records.ANY_RESULT)
PROFILE = EntryKind("profile", TypeAdapter(records.ProfileReport))
SANITIZER = EntryKind("sanitizer", TypeAdapter(records.SanitizerReport))
END = EntryKind(END_NAME, TypeAdapter(records.End))
PRUNED = EntryKind("pruned", TypeAdapter(records.Pruned))
LABORATORY: tuple[EntryKind[Any], ...] = (
    GENESIS, RESUME, ADOPTED, NOTE, CALIBRATION, TRIAL, LISTING, CONFIRMATION, RESULT, PROFILE, SANITIZER, END, PRUNED,
)  # fmt: skip
