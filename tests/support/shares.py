"""Which of the heavy tests a session takes: one in so many of every folder, by the seed of all samples."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import NamedTuple


class Heavy(NamedTuple):
    """A test by its name, and the name under which it is drawn: tests that share what is costly to make have one in common."""

    test: str
    unit: str

    @property
    def folder(self) -> str:
        return self.test.partition("::")[0].rpartition("/")[0]


def left_out(tests: Iterable[Heavy], share: int, seed: int) -> set[str]:
    """The names of those that are not drawn. Of each folder at least one is, so whoever asks for a single test gets it; as many
    seeds in a row as the share says draw every one."""
    folders: dict[str, dict[str, list[str]]] = {}
    for heavy in tests:
        folders.setdefault(heavy.folder, {}).setdefault(heavy.unit, []).append(heavy.test)
    return {
        name
        for folder, units in folders.items()
        for unit in set(units) - set(_drawn(folder, sorted(units), share, seed))
        for name in units[unit]
    }


def _drawn(folder: str, units: list[str], share: int, seed: int) -> list[str]:
    """Those that lie beside each other in a file are like each other, and are not to come on the same day."""
    random.Random(folder).shuffle(units)
    return units[seed % min(share, len(units)) :: share]
