"""The runs of a folder, a row each: what was asked for, what came of it. Only sound ledgers have a row; others are named.

Covered: ledgers that were changed, cut or cannot be read. Not covered: figures that do not follow from their samples and
evidence that is missing; `klab audit` derives and looks for those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernellab.core.errors import KlabError, UsageError
from kernellab.core.records import Dims
from kernellab.ledger import kinds
from kernellab.ledger.check import check
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.records import AnyResult, Genesis, Published
from kernellab.ledger.run import Run, place_of
from kernellab.ledger.suite_records import RUNS
from kernellab.studies.judgement import VERDICT, StudyVerdict

UNFINISHED, ENDED = "unfinished", "ended"
_ORDER = ("better", "busy", "nothing-better", "verified", "nothing-verified")
_DEEPEST = 4


@dataclass(frozen=True)
class RunRow:
    """`status`: what its shapes came to at best, a study's verdict, or "unfinished". `results`: the last of each shape."""

    folder: Path
    run: str
    task: str
    device: str
    purpose: str
    status: str
    trials: int
    started: str
    shapes: tuple[Dims, ...]
    results: tuple[AnyResult, ...]

    @property
    def best(self) -> Published | None:
        """The confirmed kernel with the best lower bound; a win before anything that is none."""
        held = [result for result in self.results if isinstance(result, Published)]
        return max(held, key=lambda r: (r.win, r.speedup_low), default=None)

    @property
    def won(self) -> bool:
        return self.best is not None and self.best.win

    def at(self, place: str) -> AnyResult | None:
        return next((r for r in self.results if place_of(r.task, r.dims) == place), None)

    def data(self) -> dict[str, Any]:
        best = kinds.RESULT.plain(self.best) if self.best else None
        return {
            "folder": str(self.folder), "run": self.run, "task": self.task, "device": self.device,
            "purpose": self.purpose, "status": self.status, "trials": self.trials, "started": self.started,
            "shapes": list(self.shapes), "best": best, "results": [kinds.RESULT.plain(r) for r in self.results],
        }  # fmt: skip


@dataclass
class RunList:
    """`unreadable`: folders whose ledger cannot be believed or read, and why."""

    rows: list[RunRow] = field(default_factory=list)
    unreadable: dict[Path, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """Which rows to keep; what is empty lets everything through."""

    task: str = ""
    device: str = ""
    status: str = ""
    wins: bool = False

    def fits(self, row: RunRow) -> bool:
        return (
            self.task in ("", row.task)
            and self.device.lower() in row.device.lower()
            and self.status in ("", row.status)
            and (row.won or not self.wins)
        )


EVERYTHING = Wanted()


def list_runs(places: Sequence[Path], wanted: Wanted = EVERYTHING) -> RunList:
    """The runs in these folders, or these runs themselves; of a suite that is named, it and its own."""
    found = RunList()
    inside = [part for place in places for part in (place, place / RUNS)]
    folders = [folder for place in inside for folder in run_folders(place)]
    if not folders:
        named = ", ".join(map(str, places))
        raise UsageError(f"there are no runs in {named}", "'klab run' starts one, in klab-runs/ if no --out is given")
    for folder in dict.fromkeys(folders):
        try:
            row = read_row(folder)
        except (KlabError, ValueError) as fault:
            found.unreadable[folder] = fault.what if isinstance(fault, KlabError) else str(fault)
            continue
        found.rows += [row] if wanted.fits(row) else []
    return found


def run_folders(place: Path, deepest: int = _DEEPEST) -> Iterator[Path]:
    """A run itself, or every run below, in the order of their names; what lies inside a run is not looked at."""
    if (place / LEDGER_FILE).is_file():
        yield place
    elif deepest and place.is_dir():
        for folder in sorted(p for p in place.iterdir() if p.is_dir() and not p.is_symlink()):
            yield from run_folders(folder, deepest - 1)


def read_row(folder: Path) -> RunRow:
    """UsageError or LedgerFault for what is no sound run."""
    ledger = check(folder)
    if ledger.problems:
        raise UsageError(f"not sound: {ledger.problems[0]}", f"see what was changed: klab audit {folder}")
    run = Run(folder)
    start = run.start
    asked = start if isinstance(start, Genesis) else None
    return RunRow(
        folder=folder, run=ledger.run, task=asked.task.name if asked else "", device=start.environment.device,
        purpose=start.purpose, status=status_of(run.ended, run.records(VERDICT), run.results),
        trials=run.count(kinds.TRIAL), started=run.first.time,
        shapes=tuple(asked.shapes) if asked else (), results=tuple(run.results),
    )  # fmt: skip


def status_of(ended: bool, verdicts: Sequence[StudyVerdict], results: Sequence[AnyResult]) -> str:
    if not ended:
        return UNFINISHED
    if verdicts:
        return verdicts[-1].verdict
    return min((result.status for result in results), key=_ORDER.index, default=ENDED)
