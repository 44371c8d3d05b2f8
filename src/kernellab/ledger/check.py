"""Verifying a run folder from its bytes alone: one pass, no lock, nothing written.

Covered: entries edited, inserted, deleted, duplicated, re-ordered, foreign or not canonical; a ledger cut
shorter than its heads; heads that are forged, shrink or are missing at the end.
Not covered: cutting both files back to an earlier head, or replacing the whole run under another key. Both
need a witness outside the folder: the run id, root and fingerprint that reports print. `ended` is a hint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kernellab.core.errors import LedgerFault
from kernellab.ledger.disk import require_ledger
from kernellab.ledger.entry import (
    AFTERWARDS,
    END,
    GENESIS,
    HEADS_FILE,
    LEDGER_FILE,
    Entry,
    Head,
    is_canonical,
    parse_entry,
    parse_head,
    run_id_of,
)
from kernellab.ledger.keys import PublicKey
from kernellab.ledger.lines import Lines
from kernellab.ledger.merkle import Frontier, leaf_hash
from kernellab.ledger.sequence import Sequence

_SHOWN_PER_SORT = 5


@dataclass(frozen=True)
class LedgerCheck:
    """`problems` is empty for a sound ledger. `torn`: a killed writer's last line, which resume cuts off. `changes`: the
    problems but for a tail that nobody signed."""

    size: int
    root: str
    run: str
    public_key: str
    fingerprint: str
    heads: int
    problems: tuple[str, ...]
    changes: tuple[str, ...]
    torn: bool
    ended: bool


def check(folder: Path) -> LedgerCheck:
    scan = Scan(folder)
    changes = scan.changes()
    unsigned = (scan.unsigned_problem(),) if scan.unsigned and scan.key else ()
    return LedgerCheck(
        size=scan.frontier.size,
        root=scan.frontier.root().hex(),
        run=scan.run,
        public_key=scan.key.hex if scan.key else "",
        fingerprint=scan.key.fingerprint if scan.key else "",
        heads=scan.head_count,
        problems=(*changes, *unsigned),
        changes=changes,
        torn=bool(scan.entries.torn or scan.heads.torn),
        ended=scan.last_kind == END,
    )


def require_sound(folder: Path, signed: bool = False) -> LedgerCheck:
    """For whoever builds on what a run recorded. A tail that a killed writer left unsigned is let pass, unless all of it
    has to be `signed`."""
    found = check(folder)
    wrong = found.problems if signed else found.changes
    if wrong:
        raise LedgerFault(f"{folder} is not sound: {wrong[0]}", fix=f"see what was changed: klab audit {folder}")
    return found


@dataclass
class _Problems:
    """Keeps the first few of each sort: one cause can make a hundred thousand lines wrong."""

    found: list[tuple[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, sort: str, text: str) -> None:
        self.counts[sort] += 1
        if self.counts[sort] <= _SHOWN_PER_SORT:
            self.found.append((sort, text))

    def told(self) -> tuple[str, ...]:
        more = [
            f"and {count - _SHOWN_PER_SORT} more problems of this sort: {sort}"
            for sort, count in self.counts.items()
            if count > _SHOWN_PER_SORT
        ]
        return (*(text for _, text in self.found), *more)


class Scan:
    """One pass over entries and heads side by side; each head is held against the tree at its own size.

    Problems do not include an unsigned tail (`unsigned` counts it): a killed writer leaves one, and resume
    deals with it.
    """

    def __init__(self, folder: Path) -> None:
        require_ledger(folder)
        # A live writer goes on while we read. Each entry is written before its head, so the heads that stand
        # now can show a cut, and the entries that stand now can lack a head; later ones prove nothing.
        self.heads = Lines(folder / HEADS_FILE)
        self._settled_heads = self.heads.path.stat().st_size if self.heads.path.exists() else 0
        self.entries = Lines(folder / LEDGER_FILE, until=(folder / LEDGER_FILE).stat().st_size)
        self.frontier = Frontier()
        self.problems = _Problems()
        self.run = ""
        self.key: PublicKey | None = None
        self.last_kind = ""
        self.head_count = 0
        self.promised = 0  # the size of the largest head with a good signature
        self._fitting = 0  # the size of the last head whose root fits
        self._misfit: tuple[int, int] | None = None
        self._misfits = 0
        self._sequence = Sequence()
        self._pass()

    @property
    def unsigned(self) -> int:
        return max(0, self.frontier.size - self.promised)

    def changes(self) -> tuple[str, ...]:
        """What no killed writer leaves behind."""
        told = self.problems.told()
        if not self.promised and self.frontier.size > 1:
            told += (f"{HEADS_FILE} has no good head at all, which no killed writer leaves behind",)
        return told

    def unsigned_problem(self) -> str:
        first, last = self.promised, self.frontier.size - 1
        return f"entries {first}..{last} have no signed head (a killed writer; klab resume adopts them)"

    def _pass(self) -> None:
        heads = self._trusted_heads()
        pending: Head | None = None
        for line in self.entries:
            self._take_entry(line)
            self.frontier = self.frontier.append(leaf_hash(line))
            if pending is None:
                pending = next(heads, None)
            while pending is not None and pending.size <= self.frontier.size:
                self._take_head(pending)
                pending = next(heads, None)
        while pending is not None:
            self._take_leftover(pending)
            pending = next(heads, None)
        for _ in heads:  # when there is no entry at all, nothing has read them yet
            pass
        self._conclude()

    def _take_entry(self, line: bytes) -> None:
        number = self.frontier.size + 1
        try:
            entry = parse_entry(line)
        except ValueError as error:
            self.problems.add("unreadable lines", f"{LEDGER_FILE} line {number} is not an entry: {error}")
            self._sequence.skip()
            return
        if number == 1:
            self._take_genesis(entry)
        if not is_canonical(entry, line):
            self.problems.add("lines not canonical", f"{LEDGER_FILE} line {number} is not canonical JSON")
        if self.run and entry.run != self.run:
            text = f"{LEDGER_FILE} line {number} is a foreign entry: of run {entry.run}, not {self.run}"
            self.problems.add("foreign entries", text)
        if wrong := self._sequence.take(entry.seq):
            self.problems.add("entries out of sequence", f"{LEDGER_FILE} line {number}: {wrong}")
        if entry.kind not in AFTERWARDS:
            self.last_kind = entry.kind

    def _take_genesis(self, entry: Entry) -> None:
        self.run = entry.run
        try:
            self.key = PublicKey(bytes.fromhex(str(entry.body.get("public_key", ""))))
            if entry.kind != GENESIS:
                raise ValueError(f"its kind is {entry.kind!r}, not {GENESIS!r}")
            if entry.run != run_id_of(entry.body):
                raise ValueError(f"its body does not hash to the run id {entry.run}")
        except (ValueError, RecursionError) as error:
            self.problems.add("genesis", f"entry 0 does not start a run: {error}")

    def _trusted_heads(self) -> Iterator[Head]:
        """Heads of this run with a good signature; the others are reported and bear no witness."""
        for number, line in enumerate(self.heads, 1):
            self.head_count = number
            if self.key is None:
                continue
            where = f"{HEADS_FILE} line {number}"
            try:
                head = parse_head(line)
            except ValueError as error:
                self.problems.add("unreadable heads", f"{where} is not a head: {error}")
                continue
            if head.run != self.run:
                self.problems.add("foreign heads", f"{where} is a head of run {head.run}, not {self.run}")
            elif not head.signed_by(self.key):
                text = f"{where} (size {head.size}) has a bad signature: edited, or signed by another key"
                self.problems.add("bad signatures", f"{text} than {self.key.fingerprint}")
            else:
                yield head

    def _take_head(self, head: Head) -> None:
        if head.size <= self.promised:
            what = "repeats" if head.size == self.promised else "shrinks: it follows"
            self.problems.add("shrinking heads", f"a head of size {head.size} {what} size {self.promised}")
            return
        self.promised = head.size
        if head.root == self.frontier.root().hex():
            self._fitting = head.size
            return
        self._misfits += 1
        if self._misfit is None:
            self._misfit = (self._fitting, head.size - 1)

    def _take_leftover(self, head: Head) -> None:
        """A head larger than the ledger, or one that stands after such a head."""
        if head.size > self.frontier.size and self.heads.good > self._settled_heads:
            return
        if head.size <= self.promised:
            self._take_head(head)
        self.promised = max(self.promised, head.size)

    def _conclude(self) -> None:
        size = self.frontier.size
        if not size:
            self.problems.add("genesis", f"{LEDGER_FILE} is empty: not even the run's first entry is there")
        for first, last in self._sequence.deleted():
            self.problems.add("deleted entries", f"entries {first}..{last} are missing: lines were deleted")
        if self._misfit:
            first, last = self._misfit
            text = f"entries {first}..{last} were changed after they were signed: the head of size {last + 1}"
            later = f", nor do {self._misfits - 1} later heads" if self._misfits > 1 else ""
            self.problems.add("changed entries", f"{text} does not fit{later}")
        if self.promised > size:
            text = f"the ledger was truncated: a signed head counts {self.promised} entries, {size} are there"
            self.problems.add("truncated ledger", text)
