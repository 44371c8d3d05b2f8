"""How far a suite is, and when it will be through."""

from __future__ import annotations

from collections.abc import Callable

from kernellab.core.events import Event
from kernellab.core.outlook import duration
from kernellab.ledger.suite_records import SUITE_TASK, SuiteTask


class Progress:
    """`already`: done before this process began; they say nothing about how long one takes."""

    def __init__(
        self, total: int, clock: Callable[[], float], already: int = 0, started: float | None = None, done: int = 0
    ) -> None:
        self._total, self._already, self._clock = total, already, clock
        self._done, self._started = done, clock() if started is None else started

    def done(self) -> None:
        self._done += 1

    @property
    def left_s(self) -> float | None:
        """By the mean of those that were done; None before the first."""
        left = self._total - self._already - self._done
        return (self._clock() - self._started) / self._done * left if self._done else None

    def line(self, name: str, what: str) -> str:
        left = self.left_s
        eta = f", about {duration(left)} left" if left else ""
        return f"{self._already + self._done}/{self._total} {name}: {what}{eta}"

    def begins(self, name: str) -> Event:
        """What is told when a task's turn has come."""
        return Event("doing", f"{name}: is it worth a search?", {"progress": self.data()})

    def ends(self, task: SuiteTask) -> Event:
        """What is told when its outcome is written: it is counted already."""
        line = self.line(task.task, f"{task.outcome}: {task.reason}")
        return Event("note", line, {"suite_task": SUITE_TASK.plain(task), "progress": self.data()})

    def data(self) -> dict[str, float | int | None]:
        """For those who show it: core/outlook.py."""
        return {"done": self._already + self._done, "total": self._total, "left_s": self.left_s}


def of_task(event: Event) -> Event:
    """An event of a task's own run, as the suite's listener is told it: that it starts is news, but it is the suite that an
    interrupt leaves to be resumed."""
    if event.kind in ("start", "end"):
        return Event("note", event.text if event.kind == "start" else "")
    return event
