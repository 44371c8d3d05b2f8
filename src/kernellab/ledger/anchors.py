"""A transparency file: one line for each root that was shown to others, each naming the hash of the line before.

Who keeps a copy of the file, or of its last line, sees whether an earlier one was changed or taken out. The file itself is
no witness as long as one person alone holds it: put it where others can see it (a shared disk, a repository, a web page).
Not covered: cutting the last lines off, which only such a copy shows.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from kernellab.core.errors import LedgerFault
from kernellab.core.ids import canonical_json, sha256_hex
from kernellab.ledger.check import LedgerCheck
from kernellab.ledger.disk import access_fault, append_whole
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.lines import Lines
from kernellab.ledger.merkle import Frontier, leaf_hash

ANCHORS_FILE = "anchors.jsonl"
_TYPES = {"time": str, "run": str, "size": int, "root": str, "key": str, "previous": str}


@dataclass(frozen=True)
class Anchor:
    """ "At `time`, run `run` had `size` entries that hash to `root`, signed with `key`." `previous`: hash of the last."""

    time: str
    run: str
    size: int
    root: str
    key: str
    previous: str

    def line(self) -> bytes:
        return canonical_json(asdict(self))


def default_file(folder: Path) -> Path:
    """Beside the folders of the runs, where one file serves all of them."""
    return folder.resolve().parent / ANCHORS_FILE


def read_anchors(data: bytes, where: str) -> tuple[list[Anchor], list[str]]:
    """Every anchor, and what is wrong with the chain."""
    found: list[Anchor] = []
    problems: list[str] = []
    previous = ""
    if data and not data.endswith(b"\n"):
        problems.append(f"{where} is cut short: its last line has no end")
    for number, line in enumerate(data.splitlines(), 1):
        try:
            anchor = _parse(line)
        except ValueError as error:
            problems.append(f"{where} line {number} is not an anchor: {error}")
            previous = sha256_hex(line)
            continue
        if anchor.previous != previous:
            what = "does not follow from the line before it: one was changed, taken out or put in"
            problems.append(f"{where} line {number} {what}")
        previous = sha256_hex(line)
        found.append(anchor)
    return found, problems


def _parse(line: bytes) -> Anchor:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError("not JSON") from error
    if not isinstance(fields, dict) or fields.keys() != _TYPES.keys():
        raise ValueError(f"not an object with the keys {', '.join(_TYPES)}")
    if any(type(fields[name]) is not kind for name, kind in _TYPES.items()):
        raise ValueError("a field is of another type")
    anchor = Anchor(**fields)
    if anchor.line() != line:
        raise ValueError("not in canonical form")
    return anchor


def _utc_now() -> datetime:
    return datetime.now(UTC)


def add_anchor(path: Path, ledger: LedgerCheck, clock: Callable[[], datetime] = _utc_now) -> tuple[Anchor, bool]:
    """Append the ledger's root to the file, unless it stands there already (False). A broken chain is not gone on with."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        raise access_fault(path.parent, error) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        data = path.read_bytes()
        anchors, problems = read_anchors(data, str(path))
        if problems:
            raise LedgerFault(problems[0], "keep it as evidence, and name another file with --to")
        same = (ledger.run, ledger.size, ledger.root)
        if known := next((a for a in anchors if (a.run, a.size, a.root) == same), None):
            return known, False
        previous = sha256_hex(anchors[-1].line()) if anchors else ""
        time = clock().isoformat(timespec="seconds")
        anchor = Anchor(time, ledger.run, ledger.size, ledger.root, ledger.fingerprint, previous)
        append_whole(fd, anchor.line() + b"\n")
        os.fsync(fd)
        return anchor, True
    except OSError as error:
        raise access_fault(path.parent, error) from error
    finally:
        os.close(fd)


def prefix_roots(folder: Path) -> Iterator[str]:
    """The root after the first entry, after the second, and so on."""
    frontier = Frontier()
    for line in Lines(folder / LEDGER_FILE):
        frontier = frontier.append(leaf_hash(line))
        yield frontier.root().hex()
