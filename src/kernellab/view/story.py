"""A run told as it grows; of a suite, the trials of the task that it is at as well, from that task's own ledger.

What a suite had done before anybody looked is told by its outcomes alone.
Not covered: a task's ledger that cannot be read. The suite's own outcome of it will come, and an audit says why.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kernellab.core.errors import LedgerFault
from kernellab.core.events import Event
from kernellab.ledger.entry import LEDGER_FILE, Entry
from kernellab.ledger.suite_records import RUNS, SUITE, SUITE_TASK
from kernellab.suite.progress import of_task
from kernellab.view.live_run import LiveRun
from kernellab.view.retold import RecordedClock, retell

Hear = Callable[[Event], None]


class _Told:
    """A ledger, and how many of its entries were told."""

    def __init__(self, folder: Path) -> None:
        self.run, self._count = LiveRun(folder), 0

    def news(self) -> list[Entry]:
        self.run.refresh()
        come = self.run.entries[self._count :]
        self._count += len(come)
        return come


class Story:
    """Every look tells what has come since the last one. LedgerFault where the ledger cannot be read."""

    def __init__(self, folder: Path) -> None:
        self._root = _Told(folder)
        self._tasks: dict[str, _Told] = {}
        self._looked = False
        self.clock = RecordedClock(self._root.run.entries[0])

    @property
    def ended(self) -> bool:
        return self._root.run.ended

    def look(self, hear: Hear) -> bool:
        """Whether anything had come."""
        come = self._root.news()
        for entry in come:
            if entry.kind == SUITE_TASK.name and self._looked:  # its outcome comes after its last trials
                self._tell_task(SUITE_TASK.read(entry.body).task, hear)
            retell(self._root.run, [entry], self.clock, hear)
        self._looked = True
        return self._tell_task(self._running(), hear) or bool(come)

    def _running(self) -> str:
        """The task of a suite whose turn it is; '' where there is none."""
        run = self._root.run
        done = {task.task for task in run.records(SUITE_TASK)}
        return next((item.name for plan in run.records(SUITE) for item in plan.tasks if item.name not in done), "")

    def _tell_task(self, name: str, hear: Hear) -> bool:
        folder = self._root.run.folder / RUNS / name
        if not name or not (folder / LEDGER_FILE).exists():
            return False
        try:
            task = self._tasks.get(name) or _Told(folder)
            come = task.news()
        except LedgerFault:
            return False
        self._tasks = {name: task}
        retell(task.run, come, self.clock, lambda event: hear(of_task(event)))
        return bool(come)
