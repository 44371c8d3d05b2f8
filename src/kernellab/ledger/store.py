"""The run folder's blobs (sources, machine code, plans, logs), each under the SHA-256 of its bytes.

The ledger names blobs by hash alone, so a blob that was changed cannot pass for the one that was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from kernellab.core.errors import LedgerFault
from kernellab.core.files import read_plain, replace_file
from kernellab.core.ids import sha256_hex
from kernellab.ledger.disk import write_fault

_SHA = re.compile(r"[0-9a-f]{64}")


class Store:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._root = folder / "artifacts"
        self._written: dict[str, tuple[int, ...]] = {}

    def path(self, sha: str) -> Path:
        if not _SHA.fullmatch(sha):
            raise LedgerFault(f"{sha!r} does not name a blob", fix="names are SHA-256: 64 lower-case hex digits")
        return self._root / sha[:2] / sha

    def put(self, data: bytes) -> str:
        """Whole or not at all, on disk before it is named; what is there already and sound is left alone."""
        sha = sha256_hex(data)
        path = self.path(sha)
        try:
            if sha in self._written and self._written[sha] == _facts(path):
                return sha
            if not _holds(path, sha):
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(path, data)
        except OSError as error:
            raise write_fault(path, self.folder, error) from error
        self._written[sha] = _facts(path)
        return sha

    def get(self, sha: str) -> bytes:
        path = self.path(sha)
        fix = f"restore {path} from a copy of the run, or run that trial again"
        try:
            data = read_plain(path)
        except FileNotFoundError as error:
            raise LedgerFault(f"blob {sha} is missing from {self._root}", fix=fix) from error
        except OSError as error:
            raise LedgerFault(f"blob {sha} cannot be read: {error.strerror}", fix=fix) from error
        if (found := sha256_hex(data)) != sha:
            raise LedgerFault(f"blob {sha} is corrupt: its bytes hash to {found}", fix=fix)
        return data

    def verify(self, shas: Iterable[str]) -> list[str]:
        """What is wrong with each of these blobs; an empty list when all are there and sound."""
        problems = []
        for sha in shas:
            try:
                self.get(sha)
            except LedgerFault as fault:
                problems.append(fault.what)
        return problems


def _facts(path: Path) -> tuple[int, ...]:
    """Which file it is, and since when it is as it is; nothing where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _holds(path: Path, sha: str) -> bool:
    try:
        return sha256_hex(read_plain(path)) == sha
    except FileNotFoundError:
        return False
