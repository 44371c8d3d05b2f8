"""`klab show --watch`: a run as it grows, on the screen that whoever started it sees; it ends when the run does.

Reads ledgers alone, so that it disturbs nobody and works from another terminal, or on a run that has ended.
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
from kernellab.view.story import Story

_LOOK_S = 0.5
_GONE = 6
"""So many looks in a row that find no writer: it has gone, and is not just changing."""


def follow(console: Screen, folder: Path, quiet: bool = False, wait: Callable[[float], None] = time.sleep) -> bool:
    """Show it until it ends; False where nobody writes to it any more although it has not ended."""
    story, alone = Story(folder), 0
    with _display(console, Outlook(story.clock), quiet) as display:
        while True:
            come = story.look(display)
            if story.ended:
                return True
            alone = 0 if come or is_written(folder) else alone + 1
            if alone >= _GONE:
                return False
            wait(_LOOK_S)


def _display(console: Screen, outlook: Outlook, quiet: bool) -> Display:
    if quiet:
        return Silent()
    return LiveDisplay(console, outlook) if console.is_terminal else PlainDisplay(console, outlook)
