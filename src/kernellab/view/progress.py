"""How far a run has come, and how long it will still take: by the Outlook that its own screen has."""

from __future__ import annotations

from dataclasses import dataclass

from kernellab.core.outlook import Outlook
from kernellab.ledger.lock import is_written
from kernellab.report.paper.ledger_prefix import LedgerPrefix
from kernellab.view.retold import RecordedClock, retell


@dataclass(frozen=True)
class Progress:
    """`detail`: trials, shape and time left; empty where the run does not say how many trials it will have."""

    ended: bool
    written: bool
    detail: str

    @property
    def words(self) -> str:
        if self.ended:
            return "ended"
        state = "running" if self.written else "not ended, and nobody writes to it now"
        return f"{state}: {self.detail}" if self.detail else state


def progress_of(run: LedgerPrefix) -> Progress:
    """Of an ended run nothing else is asked."""
    if run.ended:
        return Progress(True, False, "")
    clock, written = RecordedClock(run.entries[0]), is_written(run.folder)
    outlook = Outlook(clock)
    retell(run, run.entries, clock, outlook.hear)
    detail = outlook.words if written else outlook.place
    return Progress(False, written, detail if outlook.asked else "")
