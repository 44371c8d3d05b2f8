"""A ledger as a paper reads it: its entries up to one size, the root over them, and what belongs to each shape.

A paper names the size of the ledger it was made from, so entries appended later (a pruning, a certificate) leave it true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from kernellab.core.errors import LedgerFault
from kernellab.core.records import AnyTrial, Timing
from kernellab.ledger import kinds
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.run import Run
from kernellab.ledger.shapes import RunShape, shapes_of
from kernellab.report.entry_kinds import ENTRY_KINDS

T = TypeVar("T")


@dataclass(frozen=True)
class Shape:
    """The numbers of the entries about one shape. `confirmed` pairs each confirmation with the calibration in force."""

    task: str
    dims: dict[str, int]
    label: str
    calibration: int | None
    trials: list[int]
    confirmed: dict[int, tuple[int, int | None]]
    result: int | None

    @staticmethod
    def of(found: RunShape) -> Shape:
        confirmed = {
            number: (c.entry.seq, c.calibration.seq if c.calibration else None) for number, c in found.confirmed.items()
        }
        calibration, result = found.calibration, found.result
        return Shape(
            found.task, found.dims, found.label, calibration.seq if calibration else None,
            [e.seq for e in found.trials], confirmed, result.seq if result else None,
        )  # fmt: skip


class LedgerPrefix(Run):
    """Entries by number. `size` 0 means all that are there. Read in full when it is opened: what is not well-formed is a
    fault then, not in the middle of a paper."""

    def __init__(self, folder: Path, size: int = 0) -> None:
        super().__init__(folder, size)
        if not self.entries:
            raise LedgerFault(f"{folder} holds an empty ledger", "start a new run with another --out")
        for number, entry in enumerate(self.entries):
            if entry.seq != number:
                text = f"{folder / LEDGER_FILE} line {number + 1} is out of order"
                raise LedgerFault(text, f"see klab audit {folder}")
        for kind in ENTRY_KINDS.values():
            self.of(kind)
        self.shapes = [Shape.of(shape) for shape in shapes_of(self)]

    @property
    def size(self) -> int:
        return len(self.entries)

    @property
    def run(self) -> str:
        return self.first.run

    def body(self, seq: int) -> dict[str, Any]:
        """An entry as plain data, for claims that name a place in it."""
        return self.entries[seq].body

    def at(self, kind: EntryKind[T], seq: int) -> T:
        """The record of entry `seq`; ValueError where it is of another kind."""
        if self.entries[seq].kind != kind.name:
            raise ValueError(f"entry {seq} is no {kind.name}")
        return next(entry.record for entry in self.of(kind) if entry.seq == seq)

    def trial_at(self, seq: int) -> AnyTrial:
        return self._trials[seq]

    @cached_property
    def _trials(self) -> dict[int, AnyTrial]:
        return {entry.seq: entry.record for entry in self.of(kinds.TRIAL)}

    @cached_property
    def timings(self) -> dict[int, Timing]:
        """Of trials and confirmations, by their entries."""
        timed = ((e.seq, getattr(e.record, "timing", None)) for e in self.in_order(kinds.TRIAL, kinds.CONFIRMATION))
        return {seq: timing for seq, timing in timed if timing is not None}

    @cached_property
    def _trial_seq(self) -> dict[int, int]:
        return {entry.record.trial: entry.seq for entry in self.of(kinds.TRIAL)}

    def trial_entry(self, number: int) -> int:
        return self._trial_seq[number]

    def matching(self, kind: str, where: Mapping[str, Any]) -> list[int]:
        """Entries of this kind whose body has these values at these dotted paths."""
        found = [entry for entry in self.entries if entry.kind == kind]
        return [e.seq for e in found if all(look(e.body, p) == v for p, v in where.items())]

    def when(self, seq: int) -> datetime:
        return datetime.fromisoformat(self.entries[seq].time)


def look(body: Any, path: str) -> Any:
    """The value at a dotted path; None where it ends early. A whole number in the path is an index."""
    for part in path.split("."):
        if isinstance(body, dict):
            body = body.get(part)
        elif isinstance(body, list) and part.isdigit() and int(part) < len(body):
            body = body[int(part)]
        else:
            return None
    return body


def spans(seqs: list[int]) -> str:
    """[1, 2, 3, 7] as "1-3,7": entries as a claim names them."""
    return ",".join(f"{a}-{b}" if b > a else f"{a}" for a, b in _runs(sorted(set(seqs))))


def unspan(text: str) -> list[int]:
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if int(last or first) - int(first) > 10_000_000:
            raise ValueError(f"'{part}' names too many entries")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def _runs(seqs: list[int]) -> Iterator[tuple[int, int]]:
    start = previous = None
    for seq in seqs:
        if start is None:
            start = seq
        elif previous is not None and seq != previous + 1:
            yield start, previous
            start = seq
        previous = seq
    if start is not None and previous is not None:
        yield start, previous
