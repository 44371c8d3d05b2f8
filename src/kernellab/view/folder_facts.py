"""The runs of the viewed folder as the pages list them: rows, comparisons, studies and certificates."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from kernellab.certify.confirmed_trial import CERTIFICATES
from kernellab.certify.needs_review import Row, review_list
from kernellab.core.errors import KlabError
from kernellab.ledger.lock import is_written
from kernellab.ledger.run import place_of
from kernellab.ledger.suite_records import PURPOSE as SUITE
from kernellab.report.run_list import UNFINISHED, RunRow
from kernellab.report.run_words import compared, outcome, shapes_of
from kernellab.studies.register import PURPOSE as STUDY
from kernellab.view.checks import Checks
from kernellab.view.glance import UNKNOWN, glance
from kernellab.view.places import Place, Stamp, places

PENDING, SOUND, UNSOUND = "not checked yet", "sound", "NOT SOUND"


@dataclass(frozen=True)
class Listed:
    """A run in a list. `ledger`: whether its ledger was found sound. `row`: None where nothing can be read."""

    place: Place
    row: RunRow | None
    ledger: str
    problem: str
    running: bool

    @property
    def status(self) -> str:
        if self.row is None:
            return "unreadable"
        return "running" if self.running else self.row.status

    @property
    def trials(self) -> str:
        return "" if self.row is None or self.row.trials == UNKNOWN else str(self.row.trials)

    @property
    def best(self) -> str:
        return outcome(self.row.best) if self.row else ""

    @property
    def low(self) -> float:
        best = self.row.best if self.row else None
        return best.speedup_low if best else 0.0

    @property
    def won(self) -> bool:
        return self.row is not None and self.row.won

    @property
    def shapes(self) -> str:
        return shapes_of(self.row) if self.row else ""

    @property
    def task(self) -> str:
        return (self.row.task or self.row.purpose) if self.row else ""

    @property
    def purpose(self) -> str:
        return self.row.purpose if self.row else ""

    @property
    def device(self) -> str:
        return self.row.device if self.row else ""

    @property
    def started(self) -> str:
        return self.row.started[:16].replace("T", " ") if self.row else ""


@dataclass(frozen=True)
class Comparison:
    """Runs of one task side by side; `several`: they are of different devices."""

    task: str
    runs: list[Listed]
    rows: list[tuple[str, list[str]]]
    several: bool


class FolderFacts:
    """One folder, asked again and again: what did not change is not read again."""

    def __init__(self, root: Path, checks: Checks) -> None:
        self.root = root
        self.checks = checks
        self._guard = threading.Lock()
        self._seen: dict[Path, tuple[Stamp, RunRow | None, str]] = {}

    def places(self) -> dict[str, Place]:
        return places(self.root)

    def listed(self, inner: bool = True) -> list[Listed]:
        """`inner`: with the runs of suites. One at a time: whoever comes second finds what the first has read."""
        with self._guard:
            return [self.look(place) for place in self.places().values() if inner or not place.suite]

    def look(self, place: Place) -> Listed:
        stamp = place.stamp()
        checked = self.checks.of(place, stamp)
        if checked is not None and checked.stamp == stamp:
            row, problem = (checked.row, "") if checked.row else (self._glanced(place, stamp)[0], checked.problem)
            return self._listed(place, row, UNSOUND if problem else SOUND, problem)
        row, fault = self._glanced(place, stamp)
        if checked is not None and checked.problem:
            return self._listed(place, row, UNSOUND, checked.problem)
        if checked is not None and row is not None and checked.row is not None and row.trials == UNKNOWN:
            row = checked.row
        return self._listed(place, row, UNSOUND if fault else PENDING, fault)

    def _listed(self, place: Place, row: RunRow | None, ledger: str, problem: str) -> Listed:
        running = row is not None and row.status == UNFINISHED and is_written(place.folder)
        return Listed(place, row, ledger, problem, running)

    def _glanced(self, place: Place, stamp: Stamp) -> tuple[RunRow | None, str]:
        seen = self._seen.get(place.folder)
        if seen is None or seen[0] != stamp:
            row, fault = None, ""
            try:
                row = glance(place.folder)
            except KlabError as error:
                fault = error.what
            seen = self._seen[place.folder] = (stamp, row, fault)
        return seen[1], seen[2]

    def suites(self) -> list[Listed]:
        return [run for run in self.listed(inner=False) if run.purpose == SUITE]

    def studies(self) -> list[Listed]:
        return [run for run in self.listed(inner=False) if run.purpose == STUDY]

    def certificates(self) -> list[tuple[Place, Row]]:
        found = []
        for place in self.places().values():
            folder = place.folder / CERTIFICATES
            if folder.is_dir():
                found += [(place, row) for row in review_list([folder])]
        return found


def comparisons(runs: list[Listed]) -> list[Comparison]:
    """A table for each task that two runs or more have results of."""
    tasks: dict[str, list[Listed]] = {}
    for run in runs:
        if run.row is not None and run.row.results:
            tasks.setdefault(run.row.task, []).append(run)
    return [_compared(task, group) for task, group in tasks.items() if len(group) > 1]


def _compared(task: str, runs: list[Listed]) -> Comparison:
    rows = [run.row for run in runs if run.row is not None]
    shapes = dict.fromkeys(place_of(r.task, r.dims) for row in rows for r in row.results)
    cells = [(shape, [compared(row.at(shape)) for row in rows]) for shape in shapes]
    return Comparison(task, runs, cells, len({row.device for row in rows}) > 1)
