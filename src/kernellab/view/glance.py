"""A run's row from the first line and the last ones of its ledger: for a list of hundreds of runs, before any is checked.

Covered: a torn last line. Not covered: whether the ledger is sound, and results that stand further up in a run that has not
ended; the check in the background reads all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kernellab.core.errors import LedgerFault
from kernellab.core.files import open_plain
from kernellab.ledger import kinds
from kernellab.ledger.entry import LEDGER_FILE as FILE
from kernellab.ledger.entry import Entry, parse_entry
from kernellab.ledger.records import AnyResult, Genesis
from kernellab.ledger.run import Run, place_of, well_formed
from kernellab.report.run_list import RunRow, status_of
from kernellab.studies.judgement import VERDICT, StudyVerdict

_TAIL = 128 << 10
UNKNOWN = -1
"""How many trials there are, where the last lines do not say."""


@dataclass
class _Last:
    trials: int = UNKNOWN
    ended: bool = False
    results: list[AnyResult] = field(default_factory=list)
    verdicts: list[StudyVerdict] = field(default_factory=list)


def glance(folder: Path) -> RunRow:
    """LedgerFault for what is no run at all."""
    run = Run(folder)
    with well_formed(folder):
        start, last = run.start, _last(folder)
        asked = start if isinstance(start, Genesis) else None
        results = tuple({place_of(r.task, r.dims): r for r in last.results}.values())
        return RunRow(
            folder=folder, run=run.first.run, task=asked.task.name if asked else "", device=start.environment.device,
            purpose=start.purpose, status=status_of(last.ended, last.verdicts, results), trials=last.trials,
            started=run.first.time, shapes=tuple(asked.shapes) if asked else (), results=results,
        )  # fmt: skip


def _last(folder: Path) -> _Last:
    found = _Last()
    resumed = False
    for entry in _backwards(folder / FILE):
        if entry.kind == kinds.TRIAL.name:
            found.trials = int(entry.body.get("trial", UNKNOWN - 1)) + 1
            break
        if entry.kind == kinds.GENESIS.name:
            found.trials = 0
        elif entry.kind == kinds.RESUME.name:
            resumed = True
        elif entry.kind == kinds.END.name and not found.ended:
            found.ended = not resumed
            found.results = list(kinds.END.read(entry.body).results)
        elif entry.kind == kinds.RESULT.name and not found.ended:
            found.results.insert(0, kinds.RESULT.read(entry.body))
        elif entry.kind == VERDICT.name:
            found.verdicts.insert(0, VERDICT.read(entry.body))
    return found


def _backwards(path: Path) -> Iterator[Entry]:
    """The last entries, the very last one first; what is no entry ends it, but for a torn last line."""
    try:
        with open_plain(path) as file:
            size = file.seek(0, 2)
            start = max(0, size - _TAIL)
            file.seek(start)
            lines = file.read(size - start).split(b"\n")
    except OSError as error:
        raise LedgerFault(f"{path} cannot be read: {error.strerror}", "check its rights") from error
    whole = lines[1:-1] if start else lines[:-1]
    for number, line in enumerate(reversed(whole)):
        try:
            yield parse_entry(line)
        except ValueError:
            if number:
                return
