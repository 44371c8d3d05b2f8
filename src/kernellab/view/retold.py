"""A ledger told again as the events that whoever ran it heard, at the times of its entries.

So one Outlook says what is left, on the screen of a run, of one who follows it, and on its page.
Not covered: what the run does between two entries, which no ledger says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from kernellab.core.events import Event
from kernellab.ledger import kinds
from kernellab.ledger.entry import Entry
from kernellab.ledger.records import Calibration, Genesis
from kernellab.ledger.suite_records import SUITE, SUITE_TASK
from kernellab.report.paper.ledger_prefix import LedgerPrefix
from kernellab.search.result import plain
from kernellab.suite.progress import Progress
from kernellab.tasks.spec import dims_label


class RecordedClock:
    """Seconds as the entries tell them while they are shown, so that a pace is the run's own; then this machine's."""

    def __init__(self, first: Entry) -> None:
        self._at: float | None = _seconds(first)

    def __call__(self) -> float:
        return time.time() if self._at is None else self._at

    def show(self, entry: Entry | None) -> None:
        self._at = None if entry is None else _seconds(entry)


def retell(run: LedgerPrefix, entries: Sequence[Entry], clock: RecordedClock, hear: Callable[[Event], None]) -> None:
    """The clock is at each entry while it is told, and then at this machine's time."""
    for entry in entries:
        clock.show(entry)
        for event in _events(run, entry, clock):
            if event.kind == "stage":  # it began when the entry before was written
                clock.show(run.entries[entry.seq - 1])
            hear(event)
            clock.show(entry)
    clock.show(None)


def _events(run: LedgerPrefix, entry: Entry, clock: RecordedClock) -> Iterator[Event]:
    """What whoever ran it was told when this was written."""
    if entry.kind == kinds.GENESIS.name:
        yield _start(run)
    elif entry.kind == kinds.CALIBRATION.name:
        calibration = kinds.CALIBRATION.read(entry.body)
        yield _stage(run, entry, calibration)
        yield Event("calibration", f"fastest baseline {calibration.fastest}", {"floor_s": calibration.floor_s})
    elif entry.kind == kinds.TRIAL.name:
        yield Event("trial", "", {"trial": run.trial_at(entry.seq)})
    elif entry.kind == kinds.CONFIRMATION.name:
        yield Event("confirmation", "", {"confirmation": kinds.CONFIRMATION.read(entry.body), "why": ""})
    elif entry.kind == kinds.RESULT.name:
        result = kinds.RESULT.read(entry.body)
        yield Event("result", result.reason, plain(result))
    elif entry.kind in (SUITE.name, SUITE_TASK.name):
        yield from _tasks(run, entry, clock)


def _start(run: LedgerPrefix) -> Event:
    start, plan = run.start, run.records(SUITE)
    name = start.task.name if isinstance(start, Genesis) else f"suite {plan[0].suite}" if plan else start.purpose
    told = {
        "folder": str(run.folder),
        "task": name,
        "device": start.environment.device,
        "tier": start.environment.tier or "auto",
    }
    return Event("start", f"run {run.run} in {run.folder}", told)


def _stage(run: LedgerPrefix, entry: Entry, calibration: Calibration) -> Event:
    """A shape begins with what was measured of it; only a search says how many trials there will be at most."""
    start = run.start
    searched = isinstance(start, Genesis) and run.purpose == "search"
    before = {dims_label(e.record.dims) for e in run.of(kinds.CALIBRATION) if e.seq < entry.seq}
    told = {
        "dims": calibration.dims, "trials": start.settings.max_trials if searched else 0, "number": len(before),
        "shapes": len(start.shapes) if searched and isinstance(start, Genesis) else 1,
    }  # fmt: skip
    return Event("stage", f"{calibration.task} {dims_label(calibration.dims)}", told)


def _tasks(run: LedgerPrefix, entry: Entry, clock: RecordedClock) -> Iterator[Event]:
    """The task of a suite that ended, if one has, and the next, if there is one."""
    (plan, *_), done = run.records(SUITE), [e.record.task for e in run.of(SUITE_TASK) if e.seq <= entry.seq]
    began = _seconds(run.entries[0])
    progress = Progress(len(plan.tasks), lambda: clock() - began, started=0.0, done=len(done))
    if entry.kind == SUITE_TASK.name:
        yield progress.ends(SUITE_TASK.read(entry.body))
    left = [item.name for item in plan.tasks if item.name not in done]
    if left:
        yield progress.begins(left[0])


def _seconds(entry: Entry) -> float:
    return datetime.fromisoformat(entry.time).timestamp()
