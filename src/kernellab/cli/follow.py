"""`klab show --watch`: a run as it grows, on the screen that whoever started it sees; it ends when the run does.

Reads the ledger alone, so that it disturbs nobody and works from another terminal, or on a run that has ended.
Not covered: what the run does between two entries, which no ledger says.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from kernellab.cli.display import Display, LiveDisplay, PlainDisplay, Silent
from kernellab.cli.screen import Screen
from kernellab.core.outlook import Outlook
from kernellab.ledger.lock import is_written
from kernellab.view.live_run import LiveRun
from kernellab.view.retold import RecordedClock, retell

_LOOK_S = 0.5
_GONE = 6
"""So many looks in a row that find no writer: it has gone, and is not just changing."""


def follow(console: Screen, folder: Path, quiet: bool = False, wait: Callable[[float], None] = time.sleep) -> bool:
    """Show it until it ends; False where nobody writes to it any more although it has not ended."""
    run = LiveRun(folder)
    clock, told, alone = RecordedClock(run.entries[0]), 0, 0
    with _display(console, Outlook(clock), quiet) as display:
        while True:
            come = run.entries[told:]
            retell(run, come, clock, display)
            told += len(come)
            if run.ended:
                return True
            alone = 0 if come or is_written(run.folder) else alone + 1
            if alone >= _GONE:
                return False
            wait(_LOOK_S)
            run.refresh()


def _display(console: Screen, outlook: Outlook, quiet: bool) -> Display:
    if quiet:
        return Silent()
    return LiveDisplay(console, outlook) if console.is_terminal else PlainDisplay(console, outlook)
