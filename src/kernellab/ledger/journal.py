"""The run folder's ledger: an append-only file of entries, and beside it one signed head per append.

Durability: every entry is one write to the page cache, so kill -9 at any moment loses at most the append in
flight. Both files are fdatasynced (entries first) by an append that comes `sync_every_s` or more after the
last sync, and by sync() and close(). So power loss costs at most the last second of appends, plus, after a
burst, what came within one second of the last sync and was followed by neither append nor sync(): call sync()
before a long silence. Should the disk keep a head and lose its entry, check() reports a truncated ledger:
that looks the same as tampering, and is never repaired silently.

Not covered: an attacker who holds the signing key, or who appends to a killed run before its owner resumes
it. What resume adopts without a signature is therefore named in an "adopted" entry, for ever.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.ids import canonical_json
from kernellab.ledger import kinds
from kernellab.ledger.check import LedgerCheck, Scan, check
from kernellab.ledger.disk import access_fault, append_whole, require_ledger, sync_folder, write_fault
from kernellab.ledger.entry import (
    GENESIS,
    HEADS_FILE,
    LEDGER_FILE,
    Entry,
    Head,
    parse_entry,
    run_id_of,
)
from kernellab.ledger.keys import PublicKey, SigningKey
from kernellab.ledger.kinds import EntryKind
from kernellab.ledger.lines import MOST_BYTES, Lines
from kernellab.ledger.lock import WriterLock
from kernellab.ledger.merkle import Frontier, leaf_hash
from kernellab.ledger.records import Adopted

__all__ = ["Entry", "Ledger", "LedgerCheck", "check", "read_entries"]

T = TypeVar("T")
Clock = Callable[[], datetime]
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT


def _utc_now() -> datetime:
    return datetime.now(UTC)


def read_entries(folder: Path) -> Iterator[Entry]:
    """Every whole entry, without taking the lock; a torn last line is passed over, any other is a fault."""
    require_ledger(folder)
    return _parsed(folder)


def _parsed(folder: Path) -> Iterator[Entry]:
    for number, line in enumerate(Lines(folder / LEDGER_FILE), 1):
        try:
            yield parse_entry(line)
        except ValueError as error:
            raise LedgerFault(
                f"{folder / LEDGER_FILE} line {number} is not an entry: {error}",
                fix=f"see what was changed: klab audit {folder}",
            ) from error


@dataclass(frozen=True, slots=True)
class _Written:
    """What is on disk and good. Replaced as a whole, so an interrupt leaves the old state or the new one."""

    frontier: Frontier
    entry_bytes: int
    head_bytes: int
    signed: int


class Ledger:
    """The one writer of a run folder. Made by create() or resume(), never directly."""

    def __init__(
        self, folder: Path, run_id: str, key: SigningKey, lock: WriterLock, written: _Written,
        clock: Clock, sync_every_s: float,
    ) -> None:  # fmt: skip
        self.folder = folder
        self.run_id = run_id
        self._key = key
        self._lock = lock
        self._written = written
        self._clock = clock
        self._sync_every_s = sync_every_s
        self._synced_at = time.monotonic()
        self._dirty = False
        self._batches = 0
        self._guard = threading.RLock()
        self._pid = os.getpid()
        self._closed = False
        self._entries = os.open(folder / LEDGER_FILE, _FLAGS, 0o644)
        try:
            self._heads = os.open(folder / HEADS_FILE, _FLAGS, 0o644)
        except BaseException:
            os.close(self._entries)
            raise

    @classmethod
    def create(
        cls, folder: Path, body: Mapping[str, Any], key: SigningKey, *,
        clock: Clock = _utc_now, sync_every_s: float = 1.0,
    ) -> Ledger:  # fmt: skip
        """Starts a run. `body` describes it; the public key and a nonce are added, and name the run."""
        full = {**_plain(GENESIS, body)[0], "public_key": key.public.hex, "nonce": secrets.token_hex(16)}
        run = run_id_of(full)
        line = Entry(0, GENESIS, clock().isoformat(), run, full).line()
        frontier = Frontier().append(leaf_hash(line))
        head = _head_line(frontier, run, clock, key)
        _refuse_used(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with ExitStack() as undo:
                lock = WriterLock(folder)
                undo.callback(lock.release)
                _refuse_used(folder)
                _place(folder / LEDGER_FILE, line + b"\n", undo)
                _place(folder / HEADS_FILE, head, undo)
                sync_folder(folder)
                written = _Written(frontier, len(line) + 1, len(head), frontier.size)
                ledger = cls(folder, run, key, lock, written, clock, sync_every_s)
                undo.pop_all()
        except OSError as error:
            raise access_fault(folder, error) from error
        return ledger

    @classmethod
    def resume(cls, folder: Path, key: SigningKey, *, clock: Clock = _utc_now, sync_every_s: float = 1.0) -> Ledger:
        """Goes on with a run after verifying all of it; repairs only what a killed writer leaves behind."""
        require_ledger(folder)
        try:
            with ExitStack() as undo:
                lock = WriterLock(folder)
                undo.callback(lock.release)
                scan = Scan(folder)
                _refuse_unsound(folder, scan, key)
                _keep_torn(folder, scan)
                written = _Written(scan.frontier, scan.entries.good, scan.heads.good, scan.promised)
                ledger = cls(folder, scan.run, key, lock, written, clock, sync_every_s)
                undo.callback(ledger._close_files)
                ledger._repair(scan)
                undo.pop_all()
        except OSError as error:
            raise write_fault(folder / LEDGER_FILE, folder, error) from error
        return ledger

    def _repair(self, scan: Scan) -> None:
        self._dirty = bool(scan.entries.torn or scan.heads.torn)
        if scan.unsigned:
            self.write(kinds.ADOPTED, Adopted(first=scan.promised, last=scan.frontier.size - 1))
        self.sync()

    @property
    def size(self) -> int:
        return self._written.frontier.size

    @property
    def root(self) -> str:
        return self._written.frontier.root().hex()

    def write(self, kind: EntryKind[T], record: T) -> Entry:
        """Records one entry as its kind has it; see append()."""
        return self.append(kind.name, kind.plain(record))

    def append(self, kind: str, body: Mapping[str, Any]) -> Entry:
        """Records one entry; on return it survives kill -9. After a fault nothing of it is left behind."""
        plain, encoded = _plain(kind, body)
        with self._guard:
            self._settle()
            old = self._written
            entry = Entry(old.frontier.size, kind, self._clock().isoformat(), self.run_id, plain)
            line = entry.line_around(encoded)
            if len(line) >= MOST_BYTES:
                raise LedgerFault(
                    f"a {kind!r} entry of {len(line)} bytes is too long to be read again",
                    fix="store what is large, and record its SHA-256",
                )
            frontier = old.frontier.append(leaf_hash(line))
            head = b"" if self._batches else _head_line(frontier, self.run_id, self._clock, self._key)
            with self._undoing():
                self._write(self._entries, LEDGER_FILE, line + b"\n")
                if head:
                    self._write(self._heads, HEADS_FILE, head)
                self._written = _Written(
                    frontier,
                    old.entry_bytes + len(line) + 1,
                    old.head_bytes + len(head),
                    frontier.size if head else old.signed,
                )
            if time.monotonic() - self._synced_at >= self._sync_every_s:
                self.sync()
        return entry

    @contextmanager
    def batch(self) -> Iterator[None]:
        """For bulk writing: entries are written at once as ever, but one head at the end signs for all."""
        with self._guard:
            self._batches += 1
        try:
            yield
        finally:
            with self._guard:
                self._batches -= 1
                if not self._batches:
                    self._sign_tail()

    def sync(self) -> None:
        """Returns once all appended is on the disk. Entries go first: a head must not outlive them."""
        with self._guard:
            self._settle()
            for fd, name in ((self._entries, LEDGER_FILE), (self._heads, HEADS_FILE)):
                try:
                    os.fdatasync(fd)
                except OSError as error:
                    raise write_fault(self.folder / name, self.folder, error) from error
            self._synced_at = time.monotonic()

    def close(self) -> None:
        """Signs what a failed batch left unsigned, syncs and lets go of the folder; twice is once."""
        with self._guard:
            if self._closed:
                return
            try:
                if os.getpid() == self._pid:
                    self._sign_tail()
                    self.sync()
            finally:
                self._closed = True
                self._close_files()
                self._lock.release()

    def _close_files(self) -> None:
        os.close(self._entries)
        os.close(self._heads)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _sign_tail(self) -> None:
        with self._guard:
            self._settle()
            old = self._written
            if old.signed == old.frontier.size:
                return
            line = _head_line(old.frontier, self.run_id, self._clock, self._key)
            with self._undoing():
                self._write(self._heads, HEADS_FILE, line)
                self._written = _Written(old.frontier, old.entry_bytes, old.head_bytes + len(line), old.frontier.size)

    def _write(self, fd: int, name: str, data: bytes) -> None:
        try:
            append_whole(fd, data)
        except OSError as error:
            raise write_fault(self.folder / name, self.folder, error) from error

    @contextmanager
    def _undoing(self) -> Iterator[None]:
        """Whatever stops the block, a full disk or Ctrl-C, its bytes are cut off now or by the next call."""
        self._dirty = True
        try:
            yield
        except BaseException:
            with suppress(LedgerFault):  # the first fault is the one to tell; _dirty stays set
                self._settle()
            raise
        self._dirty = False

    def _settle(self) -> None:
        """Cuts both files back to what is known to be good, if something may have been left beyond it."""
        if self._closed:
            raise ValueError(f"the ledger in {self.folder} is closed")
        if os.getpid() != self._pid:
            raise LedgerFault(
                f"{self.folder} is written by process {self._pid}; this is a fork of it",
                fix="append from the process that opened the ledger",
            )
        if not self._dirty:
            return
        try:
            os.ftruncate(self._heads, self._written.head_bytes)
            os.ftruncate(self._entries, self._written.entry_bytes)
        except OSError as error:
            raise write_fault(self.folder / LEDGER_FILE, self.folder, error) from error
        self._dirty = False


def _head_line(frontier: Frontier, run: str, clock: Clock, key: SigningKey) -> bytes:
    head = Head(frontier.size, frontier.root().hex(), run, clock().isoformat())
    return head.signed(key).line() + b"\n"


def _plain(kind: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The body as a reader will see it (tuples are lists, keys are strings, later changes do not show)."""
    try:
        encoded = canonical_json(dict(body))
        plain: dict[str, Any] = json.loads(encoded)
        if plain != body:  # {10: ..., 9: ...} sorts by number before it is text, and by text after
            encoded = canonical_json(plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise LedgerFault(
            f"a {kind!r} entry cannot be recorded: {error}",
            fix="record plain JSON: finite numbers, valid Unicode, no objects",
        ) from error
    return plain, encoded


def _refuse_used(folder: Path) -> None:
    try:
        used = (folder / LEDGER_FILE).exists() or (folder / HEADS_FILE).exists()
    except OSError as error:
        raise access_fault(folder, error) from error
    if used:
        raise UsageError(f"{folder} already holds a ledger", fix=f"klab resume {folder} or choose another --out")


def _place(path: Path, data: bytes, undo: ExitStack) -> None:
    """The file appears with all of its first line or not at all, so a killed create() leaves no half run."""
    aside = path.with_name(path.name + ".new")
    undo.callback(aside.unlink, missing_ok=True)
    with aside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    undo.callback(path.unlink, missing_ok=True)
    aside.rename(path)


def _refuse_unsound(folder: Path, scan: Scan, key: SigningKey) -> None:
    if problems := scan.changes():
        raise LedgerFault(
            f"{folder} does not verify: {'; '.join(problems[:3])}",
            fix=f"nothing was changed: see klab audit {folder}, keep it as evidence, use another --out",
        )
    refuse_other_key(folder, scan.key, key)


def refuse_other_key(folder: Path, signed_with: PublicKey | None, key: SigningKey) -> None:
    """Only the key that signed a run goes on with it."""
    if signed_with != key.public:
        signer = signed_with.fingerprint if signed_with else "nobody"
        raise LedgerFault(
            f"{folder} was signed by key {signer}, and this is key {key.fingerprint}",
            fix="resume where the run was started, or set KLAB_HOME to the folder of its signing-key",
        )


def _keep_torn(folder: Path, scan: Scan) -> None:
    """Nothing is thrown away: the torn bytes move aside before the ledger is cut."""
    if not scan.entries.torn:
        return
    with (folder / f"ledger.torn-{scan.frontier.size}").open("ab") as file:
        file.write(scan.entries.torn)
        file.flush()
        os.fsync(file.fileno())
