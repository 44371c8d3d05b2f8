"""How far a run has come, and how long it will still take at the pace of its last trials."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from kernellab.core.errors import KlabError
from kernellab.core.outlook import duration
from kernellab.ledger import kinds
from kernellab.ledger.lock import is_written
from kernellab.measurement.stats import median
from kernellab.report.paper.ledger_prefix import LedgerPrefix

_PACE = 20
"""So many trials tell the pace."""


@dataclass(frozen=True)
class Progress:
    """`asked`: trials that were asked for in all; 0 where the run does not say. `left_s`: None where nobody can tell."""

    ended: bool
    written: bool
    done: int
    asked: int
    shape: int
    shapes: int
    left_s: float | None

    @property
    def words(self) -> str:
        if self.ended:
            return "ended"
        state = "running" if self.written else "not ended, and nobody writes to it now"
        return f"{state}: {self.detail}" if self.asked else state

    @property
    def detail(self) -> str:
        """Without the state."""
        done = f"{self.done} of at most {self.asked} trials"
        shape = f", shape {self.shape} of {self.shapes}" if self.shapes > 1 else ""
        eta = f", about {duration(self.left_s)} left" if self.written and self.left_s is not None else ""
        return f"{done}{shape}{eta}"


def progress_of(run: LedgerPrefix) -> Progress:
    ended = run.ended
    asked, shape = 0, 1
    try:
        most, shapes = run.genesis.settings.max_trials, max(1, len(run.genesis.shapes))
    except KlabError:  # a run without a task asks for no trials
        most, shapes = 0, 1
    held = [bool(s.result is not None) for s in run.shapes]
    open_ = [s for s in run.shapes if s.result is None]
    if most and run.purpose == "search":
        asked = max(most * shapes, run.count(kinds.TRIAL))
        shape = min(sum(held) + 1, shapes)
    done = run.count(kinds.TRIAL)
    return Progress(ended, not ended and is_written(run.folder), done, asked, shape, shapes,
                    _left(run, most, [len(s.trials) for s in open_]) if asked else None)  # fmt: skip


def _left(run: LedgerPrefix, most: int, tried: list[int]) -> float | None:
    times = [datetime.fromisoformat(entry.time) for entry in run.of(kinds.TRIAL)[-_PACE:]]
    steps = [(b - a).total_seconds() for a, b in pairwise(times)]
    if not steps:
        return None
    return median(steps) * sum(max(0, most - count) for count in tried)
