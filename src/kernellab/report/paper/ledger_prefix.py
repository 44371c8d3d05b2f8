"""A ledger as a paper reads it: its entries up to one size, the root over them, and what belongs to each shape.

A paper names the size of the ledger it was made from, so entries appended later (a pruning, a certificate) leave it true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from kernellab.core.errors import LedgerFault
from kernellab.ledger.disk import require_ledger
from kernellab.ledger.entry import END, GENESIS, LEDGER_FILE, Entry, parse_entry
from kernellab.ledger.lines import Lines
from kernellab.ledger.merkle import Frontier, leaf_hash
from kernellab.ledger.store import Store

TIMED = ("trial", "confirmation")


@dataclass
class Shape:
    """The numbers of the entries about one shape. `confirmed` pairs each confirmation with the calibration in force."""

    task: str
    dims: dict[str, int]
    calibration: int | None = None
    trials: list[int] = field(default_factory=list)
    confirmed: dict[int, tuple[int, int | None]] = field(default_factory=dict)
    result: int | None = None

    @property
    def label(self) -> str:
        return ", ".join(f"{k}={v}" for k, v in self.dims.items())


class LedgerPrefix:
    """Entries by number. `size` 0 means all that are there; a torn last line is passed over."""

    def __init__(self, folder: Path, size: int = 0) -> None:
        require_ledger(folder)
        self.folder = folder
        self.store = Store(folder)
        self.entries: list[Entry] = []
        frontier = Frontier()
        for line in Lines(folder / LEDGER_FILE):
            if size and frontier.size >= size:
                break
            self.entries.append(_parsed(folder, line, frontier.size))
            frontier = frontier.append(leaf_hash(line))
        if not self.entries:
            raise LedgerFault(f"{folder} holds an empty ledger", "start a new run with another --out")
        self.root = frontier.root().hex()
        self._by_kind: dict[str, list[Entry]] = {}
        for entry in self.entries:
            self._by_kind.setdefault(entry.kind, []).append(entry)
        self.shapes = list(self._shapes().values())
        self._trial_seq = {e.body["trial"]: e.seq for e in self.of("trial")}

    @property
    def size(self) -> int:
        return len(self.entries)

    @property
    def run(self) -> str:
        return self.entries[0].run

    @property
    def genesis(self) -> dict[str, Any]:
        return self.body(0)

    @property
    def ended(self) -> bool:
        """Ended and not reopened since; certificates, reviews and prunings may follow."""
        ends, resumed = self.of(END), self.of("resume")
        return bool(ends) and not any(e.seq > ends[-1].seq for e in resumed)

    def of(self, kind: str) -> list[Entry]:
        return self._by_kind.get(kind, [])

    def body(self, seq: int) -> dict[str, Any]:
        return self.entries[seq].body

    def trial_entry(self, number: int) -> int:
        return self._trial_seq[number]

    def matching(self, kind: str, where: Mapping[str, Any]) -> list[int]:
        """Entries of this kind whose body has these values at these dotted paths."""
        return [e.seq for e in self.of(kind) if all(look(e.body, p) == v for p, v in where.items())]

    def when(self, seq: int) -> datetime:
        return datetime.fromisoformat(self.entries[seq].time)

    def _shapes(self) -> dict[str, Shape]:
        found: dict[str, Shape] = {}

        def at(task: str, dims: Mapping[str, int]) -> Shape:
            ordered = dict(sorted(dims.items()))
            return found.setdefault(f"{task} {ordered}", Shape(task, ordered))

        genesis = self.genesis if self.entries[0].kind == GENESIS else {}
        for dims in genesis.get("shapes", []):
            at(genesis["task"]["name"], dims)
        for entry in self.entries:
            if entry.kind not in ("calibration", "trial", "confirmation", "result"):
                continue
            shape = at(entry.body["task"], entry.body["dims"])
            if entry.kind == "calibration":
                shape.calibration = entry.seq
            elif entry.kind == "trial":
                shape.trials.append(entry.seq)
            elif entry.kind == "confirmation":
                shape.confirmed[entry.body["trial"]] = (entry.seq, shape.calibration)
            else:
                shape.result = entry.seq
        return found


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


def _parsed(folder: Path, line: bytes, number: int) -> Entry:
    try:
        entry = parse_entry(line)
    except ValueError as error:
        raise LedgerFault(f"{folder / LEDGER_FILE} line {number + 1} is not an entry: {error}",
                          f"see what was changed: klab audit {folder}") from error  # fmt: skip
    if entry.seq != number:
        raise LedgerFault(f"{folder / LEDGER_FILE} line {number + 1} is out of order", f"see klab audit {folder}")
    return entry
