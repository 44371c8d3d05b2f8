"""What a run is doing now, how far it has come, and how long it may still take: from its events alone.

Covered: the pace of the last trials, and what setting a shape up and confirming its best took at earlier shapes.
Not covered: a search that ends early because nothing is left to try. So what is told is the most that it should take.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from kernellab.core.events import Event

_PACE = 20
"""So many trials tell the pace."""
_TELLING = ("doing", "note", "baseline", "calibration", "confirming", "science")
"""Events whose text says what is waited for."""
_SET_UP = "measuring ceilings, drawing inputs, starting baselines"
_NEXT = "the next trial"
_LAST = "confirming the best"


class Outlook:
    """Hears every event. `trials`, `asked`: done and to be done at most, at the part (a shape, say) it is at."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._began = self._mark = self._doing_since = clock()
        self.doing = "starting"
        self.trials = self.asked = 0
        self.part = self.parts = 0
        self._word = "shape"
        self._open = False
        self._steps: deque[float] = deque(maxlen=_PACE)
        self._setups: list[float] = []
        self._ends: list[float] = []
        self._suite = False
        self._told: tuple[float, float] | None = None

    def hear(self, event: Event) -> None:
        now = self.clock()
        if event.kind in _TELLING and event.text:
            self._do(event.text, now)
        match event.kind:
            case "stage":
                self._stage(event.data, now)
            case "calibration":
                self._setups.append(now - self._mark)
                self._mark = now
                self._do(_NEXT, now)
            case "trial":
                self._steps.append(now - self._mark)
                self._mark = now
                self.trials += 1
                self._do(_LAST if self.trials == self.asked and self._word == "shape" else _NEXT, now)
            case "result":
                self._ends.append(now - self._mark)
                self._open = False
        if "progress" in event.data:
            self._progress(event.data["progress"], now)

    def _stage(self, data: dict[str, Any], now: float) -> None:
        self.trials, self.asked = 0, int(data["trials"])
        if not self._suite:
            self.part, self.parts = int(data["number"]) + 1, int(data["shapes"])
            self._word = str(data.get("part", "shape"))
        self._mark, self._open = now, True
        self._do(_SET_UP, now)

    def _progress(self, told: dict[str, Any], now: float) -> None:
        """A suite knows its own: tasks done, of how many, and the seconds that the others should take."""
        part = min(int(told["done"]) + 1, int(told["total"]))
        if part != self.part or not self._suite:
            self.trials = self.asked = 0  # those of the task before are no longer news
        self._suite, self._word = True, "task"
        self.part, self.parts = part, int(told["total"])
        self._told = (now, float(told["left_s"])) if told["left_s"] is not None else None

    def _do(self, text: str, now: float) -> None:
        if text != self.doing:
            self.doing, self._doing_since = text, now

    @property
    def elapsed_s(self) -> float:
        return self.clock() - self._began

    @property
    def doing_s(self) -> float:
        """For so long it has been doing that."""
        return self.clock() - self._doing_since

    @property
    def left_s(self) -> float | None:
        """None where nothing tells yet."""
        now = self.clock()
        if self._told is not None:
            return max(0.0, self._told[1] - (now - self._told[0]))
        if not self._steps or self._suite:
            return None
        pace, end, setup = statistics.median(self._steps), _mean(self._ends), _mean(self._setups)
        here = 0.0
        if self._open:
            left = self.asked - self.trials
            here = pace * left + end if left > 0 else max(0.0, end - (now - self._mark))
        return here + max(0, self.parts - self.part) * (setup + pace * self.asked + end)

    @property
    def words(self) -> str:
        """ "7 of at most 24 trials, shape 1 of 2, about 3 min left": as much of it as is known."""
        found = [self.place] if self.place else []
        if (left := self.left_s) is not None:
            unseen = self._word == "shape" and not self._ends
            found.append(f"about {duration(left)} left" + (", confirmations aside" if unseen else ""))
        return ", ".join(found)

    @property
    def place(self) -> str:
        """Without the time: for a run that nobody writes to."""
        trials = [f"{self.trials} of at most {self.asked} trials"] if self.asked else []
        return ", ".join([*trials, *([f"{self._word} {self.part} of {self.parts}"] if self.parts > 1 else [])])

    def data(self) -> dict[str, Any]:
        left = self.left_s
        return {
            "doing": self.doing, "trials": self.trials, "trials_at_most": self.asked, self._word: self.part,
            f"{self._word}s": self.parts, "left_s": None if left is None else round(left, 1),
        }  # fmt: skip


def _mean(seconds: list[float]) -> float:
    return statistics.fmean(seconds) if seconds else 0.0


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
