"""A SQLite view of a run's trials, for questions that would otherwise parse the whole ledger again.

A cache, never evidence: it is caught up from the ledger on every opening, and thrown away when the prefix it
was built from is not what the ledger holds now. Published figures come from entries, not from here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kernellab.core.errors import LedgerFault
from kernellab.core.ids import canonical_json
from kernellab.ledger.disk import require_ledger
from kernellab.ledger.entry import LEDGER_FILE, Entry, parse_entry
from kernellab.ledger.lines import Lines
from kernellab.ledger.merkle import EMPTY_ROOT, Frontier, leaf_hash

INDEX_FILE = "index.sqlite"
_SCHEMA_VERSION = 1
_SCHEMA = """
DROP TABLE IF EXISTS trials;
DROP TABLE IF EXISTS covered;
CREATE TABLE trials (
    seq INTEGER PRIMARY KEY, trial INTEGER, task TEXT, dims TEXT, status TEXT, name TEXT, params TEXT,
    speedup REAL, low REAL, high REAL, reason TEXT, source TEXT, artifact TEXT);
CREATE INDEX trials_by_task ON trials (task, dims, status, speedup);
CREATE TABLE covered (size INTEGER NOT NULL, root TEXT NOT NULL, run TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One trial, flat. `dims` and `params` are canonical JSON; what its status does not have is None."""

    seq: int
    trial: int | None
    task: str | None
    dims: str | None
    status: str | None
    name: str | None
    params: str | None
    speedup: float | None
    low: float | None
    high: float | None
    reason: str | None
    source: str | None
    artifact: str | None


_COLUMNS = ", ".join(field.name for field in fields(TrialRow))
_INSERT = f"INSERT INTO trials ({_COLUMNS}) VALUES ({', '.join('?' for _ in fields(TrialRow))})"


def open_index(folder: Path) -> sqlite3.Connection:
    """The index, caught up with the ledger; a temporary one where the folder cannot be written."""
    require_ledger(folder)
    path = folder / INDEX_FILE
    try:
        return _open(str(path), folder)
    except sqlite3.OperationalError:  # read-only, full or locked: an empty name is SQLite's private temp file
        return _open("", folder)
    except sqlite3.DatabaseError:  # not a database, or a damaged one
        try:
            path.unlink()
        except OSError:
            return _open("", folder)
        return _open(str(path), folder)


def trials(
    conn: sqlite3.Connection,
    task: str | None = None,
    dims: dict[str, int] | None = None,
    status: str | None = None,
) -> list[TrialRow]:
    """In ledger order; a filter that is None lets everything through."""
    wanted = {"task": task, "dims": _text(dims), "status": status}
    given = {name: value for name, value in wanted.items() if value is not None}
    where = " AND ".join(f"{name} = :{name}" for name in given) or "1"
    return _rows(conn, f"SELECT {_COLUMNS} FROM trials WHERE {where} ORDER BY seq", given)


def best_trials(conn: sqlite3.Connection) -> list[TrialRow]:
    """The measured trial with the highest speedup for every task and dims; the earlier one of a tie."""
    ranked = "row_number() OVER (PARTITION BY task, dims ORDER BY speedup DESC, seq) AS place"
    measured = f"SELECT *, {ranked} FROM trials WHERE status = 'measured' AND speedup IS NOT NULL"
    return _rows(conn, f"SELECT {_COLUMNS} FROM ({measured}) WHERE place = 1 ORDER BY task, dims", {})


def count_by_status(conn: sqlite3.Connection) -> dict[str, int]:
    return dict(conn.execute("SELECT status, count(*) FROM trials GROUP BY status ORDER BY status"))


def _rows(conn: sqlite3.Connection, query: str, values: dict[str, Any]) -> list[TrialRow]:
    return [TrialRow(*row) for row in conn.execute(query, values)]


def _open(name: str, folder: Path) -> sqlite3.Connection:
    conn = sqlite3.connect(name, timeout=30.0, isolation_level=None)
    try:
        conn.execute("BEGIN IMMEDIATE")  # of two openers the second waits, then finds the work done
        if not _catch_up(conn, folder):
            conn.execute("ROLLBACK")
            _reset(conn)
            conn.execute("BEGIN IMMEDIATE")
            _catch_up(conn, folder)
        conn.execute("COMMIT")
    except BaseException:
        conn.close()
        raise
    return conn


def _reset(conn: sqlite3.Connection) -> None:
    conn.executescript(_SCHEMA + f"PRAGMA user_version = {_SCHEMA_VERSION};")
    conn.execute("INSERT INTO covered VALUES (0, ?, '')", (EMPTY_ROOT.hex(),))


def _catch_up(conn: sqlite3.Connection, folder: Path) -> bool:
    """Hashes the prefix that is indexed and parses only what follows it; False when the prefix differs."""
    if conn.execute("PRAGMA user_version").fetchone()[0] != _SCHEMA_VERSION:
        return False
    covered = conn.execute("SELECT size, root, run FROM covered").fetchone()
    if covered is None:
        return False
    size, root, run = covered
    tail = _Tail(folder, size, run)
    conn.executemany(_INSERT, tail.rows())
    if tail.prefix_root != root:
        return False
    conn.execute("UPDATE covered SET size = ?, root = ?, run = ?", tail.covered())
    return True


class _Tail:
    """Streams the entries after the first `size` as rows, hashing everything on the way."""

    def __init__(self, folder: Path, size: int, run: str) -> None:
        self._path = folder / LEDGER_FILE
        self._size = size
        self._run = run
        self._frontier = Frontier()
        self.prefix_root = EMPTY_ROOT.hex() if size == 0 else ""

    def covered(self) -> tuple[int, str, str]:
        return self._frontier.size, self._frontier.root().hex(), self._run

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for line in Lines(self._path):
            if self._frontier.size >= self._size:
                entry = self._parse(line)
                self._run = self._run or entry.run
                if entry.kind == "trial":
                    yield _row(entry)
            self._frontier = self._frontier.append(leaf_hash(line))
            if self._frontier.size == self._size:
                self.prefix_root = self._frontier.root().hex()

    def _parse(self, line: bytes) -> Entry:
        try:
            entry = parse_entry(line)
            if entry.seq != self._frontier.size:
                raise ValueError(f"seq {entry.seq} is out of order")
            return entry
        except ValueError as error:
            raise LedgerFault(
                f"{self._path} line {self._frontier.size + 1} is not the next entry: {error}",
                fix=f"see what was changed: klab audit {self._path.parent}",
            ) from error


def _row(entry: Entry) -> tuple[Any, ...]:
    body = entry.body
    proposal, artifact = _part(body, "proposal"), _part(body, "artifact")
    verdict, timing = _part(body, "verdict"), _part(body, "timing")
    return (
        entry.seq, body.get("trial"), body.get("task"), _text(body.get("dims")), body.get("status"),
        proposal.get("name"), _text(proposal.get("params")),
        timing.get("speedup"), timing.get("speedup_low"), timing.get("speedup_high"),
        body.get("reason") or verdict.get("reason"), proposal.get("source"), artifact.get("id"),
    )  # fmt: skip


def _part(body: dict[str, Any], name: str) -> dict[str, Any]:
    part = body.get(name)
    return part if isinstance(part, dict) else {}


def _text(value: Any) -> str | None:
    return None if value is None else canonical_json(value).decode()
