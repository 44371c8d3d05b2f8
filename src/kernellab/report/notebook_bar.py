"""A run as it goes on, in a notebook: a bar, the time left, what is waited for, the best so far.

Needs IPython's display() and nothing else.

Covered: texts from candidates and models are escaped; nothing is drawn where there is no notebook; a run is never ended or
slowed down by what is shown. Not covered: seconds that pass between two events.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from kernellab.core.events import Event, Listener, silent
from kernellab.core.outlook import Outlook
from kernellab.core.records import AnyTrial, MeasuredTrial

_EACH_S = 0.3
"""Between two drawings: a browser needs no more, and a clock may be running."""


class NotebookBar:
    """`show` draws it for the first time and gives what draws it again."""

    def __init__(
        self, show: Callable[[NotebookBar], Callable[[NotebookBar], Any]], outlook: Outlook | None = None
    ) -> None:
        self._outlook = outlook or Outlook()
        self._title, self._best, self._state = "", "", "running"
        self._speedup = 0.0
        self._drawn_at = time.monotonic()
        self._again: Callable[[NotebookBar], Any] = show(self)

    def __call__(self, event: Event) -> None:
        self._outlook.hear(event)
        if event.kind == "stage":
            self._title, self._best, self._speedup = event.text, "", 0.0
        elif event.kind == "start":
            self._title = str(event.data["task"])
        elif event.kind == "trial":
            self._trial(event.data["trial"])
        if time.monotonic() - self._drawn_at >= _EACH_S or event.kind in ("stage", "result"):
            self._draw()

    def end(self, state: str) -> None:
        self._state = state
        self._draw()

    def _trial(self, trial: AnyTrial) -> None:
        if isinstance(trial, MeasuredTrial) and trial.timing.speedup > self._speedup:
            self._speedup = trial.timing.speedup
            t = trial.timing
            self._best = f"best so far: {t.speedup:.2f}x of {t.baseline} [{t.speedup_low:.2f}, {t.speedup_high:.2f}], "
            self._best += trial.proposal.name

    def _draw(self) -> None:
        self._drawn_at = time.monotonic()
        try:
            self._again(self)
        except Exception:  # noqa: BLE001  the boundary to somebody else's screen: it never ends a run
            self._again = lambda _: None

    @property
    def _lines(self) -> list[str]:
        doing = self._outlook.doing if self._state == "running" else self._state
        return [line for line in (self._outlook.words, doing, self._best) if line]

    def __repr__(self) -> str:
        return "; ".join([*filter(None, [self._title]), *self._lines])

    def _repr_html_(self) -> str:
        done, most = self._outlook.trials, self._outlook.asked
        value = (
            f'value="{min(done, most)}" max="{most}"' if most else 'value="1" max="1"' if self._state == "ended" else ""
        )
        bar = f'<progress {value} style="width: 20em; max-width: 100%"></progress>'
        return f"<div><b>{escape(self._title)}</b> {bar}<br>{'<br>'.join(map(escape, self._lines))}</div>"


@contextmanager
def watched(listener: Listener | None) -> Iterator[Listener]:
    """Whoever listens; a bar where nobody does and this is a notebook."""
    display = _notebook_display() if listener is None else None
    if listener is not None or display is None:
        yield listener or silent
        return
    bar = NotebookBar(lambda first: display(first, display_id=True).update)
    try:
        yield bar
    except BaseException as err:
        bar.end(f"broken off: {type(err).__name__}")
        raise
    bar.end("ended")


def _notebook_display() -> Callable[..., Any] | None:
    """IPython's display() in a process that a notebook talks to; a terminal has no place for a bar of HTML."""
    if "IPython" not in sys.modules:
        return None
    ipython = sys.modules["IPython"]
    shell = ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return None
    found: Callable[..., Any] = ipython.display.display
    return found
