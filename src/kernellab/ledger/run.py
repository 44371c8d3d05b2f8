"""A run as a reader sees it: its records by kind, typed; lazily, and in one pass over the ledger.

Everything that builds on what a run recorded reads it here. What is not as its record should be is a LedgerFault that names
the entry. Not covered: whether the ledger is sound; check() says that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.records import AnyTrial, Confirmation
from kernellab.ledger import kinds
from kernellab.ledger.disk import require_ledger
from kernellab.ledger.entry import LEDGER_FILE, Entry
from kernellab.ledger.journal import read_entries
from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.lines import Lines
from kernellab.ledger.merkle import leaf_hash, root_of
from kernellab.ledger.records import AnyGenesis, AnyResult, Calibration, Environment, Genesis
from kernellab.ledger.session_records import SESSION_CALL, SESSION_PART, SessionCall, SessionPart
from kernellab.ledger.store import Store
from kernellab.tasks.spec import Dims, shape_key

T = TypeVar("T")


@dataclass(frozen=True)
class TypedEntry(Generic[T]):
    """An entry whose body has been read."""

    seq: int
    time: str
    record: T


@contextmanager
def well_formed(folder: Path) -> Iterator[None]:
    """The boundary to records that are not what this version writes, because somebody or another version wrote them."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as err:  # a ValidationError is a ValueError
        raise not_well_formed(folder, _in_short(err)) from err


def not_well_formed(folder: Path, what: str) -> LedgerFault:
    text = f"{folder} holds a record that is not well-formed: {what}"
    return LedgerFault(text, fix=f"see what was changed: klab audit {folder}")


def place_of(task: str, dims: Dims) -> str:
    """A task at a shape, whatever order its dimensions stand in."""
    return f"{task} {shape_key(dims)}"


class Run:
    """`size`: only so many first entries; 0 for all that are there. A torn last line is passed over."""

    def __init__(self, folder: Path, size: int = 0) -> None:
        require_ledger(folder)
        self.folder = folder
        self.store = Store(folder)
        self._most = size or None
        self._typed: dict[EntryKind[Any], list[TypedEntry[Any]]] = {}

    @cached_property
    def entries(self) -> list[Entry]:
        return list(islice(read_entries(self.folder), self._most))

    @cached_property
    def _by_kind(self) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.kind, []).append(entry)
        return found

    @property
    def kinds(self) -> list[str]:
        """The kinds of its entries, in the order in which each first came."""
        return list(self._by_kind)

    def count(self, kind: EntryKind[Any]) -> int:
        """How many entries there are of a kind; they are not read for it."""
        return len(self._by_kind.get(kind.name, ()))

    def of(self, kind: EntryKind[T]) -> Sequence[TypedEntry[T]]:
        """Every entry of a kind, in the ledger's order."""
        if kind not in self._typed:
            self._typed[kind] = [self._read(kind, entry) for entry in self._by_kind.get(kind.name, ())]
        return self._typed[kind]

    def in_order(self, *kinds: EntryKind[Any]) -> list[TypedEntry[Any]]:
        """The entries of several kinds as they follow each other in the ledger."""
        return sorted((entry for kind in kinds for entry in self.of(kind)), key=lambda entry: entry.seq)

    def records(self, kind: EntryKind[T]) -> list[T]:
        return [entry.record for entry in self.of(kind)]

    @cached_property
    def root(self) -> str:
        """Of the Merkle tree over its entries."""
        return root_of(leaf_hash(line) for line in islice(Lines(self.folder / LEDGER_FILE), self._most)).hex()

    @cached_property
    def first(self) -> Entry:
        for entry in read_entries(self.folder):
            return entry
        raise LedgerFault(f"{self.folder} holds an empty ledger", "start a new run with another --out")

    @property
    def purpose(self) -> str:
        """What the run is for; '' where its first entry does not say."""
        return str(self.first.body.get("purpose", ""))

    @cached_property
    def start(self) -> AnyGenesis:
        """The first entry, whatever the run is for; no other line is read for it."""
        return self._read(kinds.GENESIS, self.first).record

    @property
    def genesis(self) -> Genesis:
        """What a laboratory was asked for."""
        if not isinstance(self.start, Genesis):
            raise UsageError(f"{self.folder} holds no trials of a task: its purpose is '{self.start.purpose}'",
                             "name a run of 'klab run', 'klab bench' or 'klab study'")  # fmt: skip
        return self.start

    @property
    def ended(self) -> bool:
        """Ended, and not gone on with since."""
        ends, resumed = self.of(kinds.END), self.of(kinds.RESUME)
        return bool(ends) and not any(entry.seq > ends[-1].seq for entry in resumed)

    @property
    def trials(self) -> list[AnyTrial]:
        return self.records(kinds.TRIAL)

    def trial(self, number: int) -> AnyTrial:
        trials = self.trials
        if not 0 <= number < len(trials):
            has = f"it has trials 0 to {len(trials) - 1}" if trials else "it has none"
            raise UsageError(f"run {self.folder} has no trial {number}", has)
        return trials[number]

    @property
    def confirmations(self) -> list[Confirmation]:
        return self.records(kinds.CONFIRMATION)

    @property
    def results(self) -> list[AnyResult]:
        """The last one for each shape."""
        return list({place_of(r.task, r.dims): r for r in self.records(kinds.RESULT)}.values())

    @property
    def calibrations(self) -> list[Calibration]:
        return self.records(kinds.CALIBRATION)

    def calibration_at(self, task: str, dims: Dims, seq: int) -> Calibration | None:
        """The one that was in force at a shape when entry `seq` was written."""
        place = place_of(task, dims)
        found = [e.record for e in self.of(kinds.CALIBRATION) if e.seq < seq]
        return next((c for c in reversed(found) if place_of(c.task, c.dims) == place), None)

    @property
    def environments(self) -> list[TypedEntry[Environment]]:
        """The one that it began in, and those in which it was gone on with."""
        begun = TypedEntry(0, self.first.time, self.start.environment)
        later = self.in_order(kinds.RESUME, SESSION_PART)
        return [begun, *(TypedEntry(e.seq, e.time, e.record.environment) for e in later)]

    def environment_at(self, seq: int) -> Environment:
        """The one in force when entry `seq` was written."""
        return [e.record for e in self.environments if e.seq <= seq][-1]

    def part_of(self, trial: int) -> SessionPart | None:
        """What an agent's session had gone on to when it made this trial; None for what its first entry says."""
        if not self.count(SESSION_PART) or not 0 <= trial < self.count(kinds.TRIAL):
            return None
        seq = self.of(kinds.TRIAL)[trial].seq
        return next((e.record for e in reversed(self.of(SESSION_PART)) if e.seq < seq), None)

    def asked_for(self, trial: int) -> Genesis:
        """What the laboratory was asked for when it made this trial."""
        part = self.part_of(trial)
        return self.genesis.model_copy(update={"task": part.task, "settings": part.settings}) if part else self.genesis

    @property
    def calls(self) -> dict[int, SessionCall]:
        """By trial: the call of an agent's tool that made it."""
        return {call.trial: call for call in self.records(SESSION_CALL)}

    def source(self, trial: AnyTrial) -> str:
        """The text of a trial's candidate."""
        return self.store.get(trial.proposal.source).decode(errors="replace")

    def _read(self, kind: EntryKind[T], entry: Entry) -> TypedEntry[T]:
        try:
            return TypedEntry(entry.seq, entry.time, kind.read(entry.body))
        except ValidationError as err:
            raise not_well_formed(self.folder, f"entry {entry.seq} ({entry.kind}): {_in_short(err)}") from err


def _in_short(err: Exception) -> str:
    if isinstance(err, ValidationError):
        first = err.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"{type(err).__name__}: {err}"
