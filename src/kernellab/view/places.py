"""Where the runs of a folder lie. A page is named by a digest of the place, so no address is ever a path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernellab.core.ids import sha256_hex
from kernellab.ledger.entry import HEADS_FILE, LEDGER_FILE
from kernellab.ledger.suite_records import RUNS
from kernellab.report.run_list import run_folders

Stamp = tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True)
class Place:
    """`name`: the folder below the one that is viewed. `suite`: the key of the suite that it belongs to, or ""."""

    key: str
    folder: Path
    name: str
    suite: str = ""

    def stamp(self) -> Stamp:
        """Changes whenever one of the two files does; a change of time that is put back shows in the third number."""
        return tuple(_facts(self.folder / name) for name in (LEDGER_FILE, HEADS_FILE))


def places(root: Path) -> dict[str, Place]:
    """Every run below, those of suites included, by key."""
    return {place.key: place for place in _found(root)}


def _found(root: Path) -> Iterator[Place]:
    for folder in run_folders(root):
        suite = _place(root, folder)
        yield suite
        if (folder / RUNS).is_dir():
            for inner in run_folders(folder / RUNS):
                yield _place(root, inner, suite.key)


def _place(root: Path, folder: Path, suite: str = "") -> Place:
    relative = folder.relative_to(root)
    name = str(relative) if relative.parts else folder.resolve().name
    return Place(sha256_hex(os.fsencode(relative))[:16], folder, name, suite)


def _facts(path: Path) -> tuple[int, int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
