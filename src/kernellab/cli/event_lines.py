"""--events: a JSON line an event on standard error, for programs that follow a run. Standard output keeps the last word.

Every line says what is waited for, how far the run is and how many seconds it should still take (null where nothing tells).
"""

from __future__ import annotations

import json
import time
from typing import Any, TextIO

from kernellab.cli.display import Silent, sentence
from kernellab.core.events import Event
from kernellab.core.outlook import Outlook
from kernellab.core.records import AnyTrial, MeasuredTrial


class EventLines(Silent):
    def __init__(self, stream: TextIO, outlook: Outlook | None = None) -> None:
        self._stream = stream
        self._outlook = outlook or Outlook()
        self._started = time.monotonic()

    def __call__(self, event: Event) -> None:
        super().__call__(event)
        self._outlook.hear(event)
        line = {"event": event.kind, "at_s": round(time.monotonic() - self._started, 3),
                "text": sentence(event) or event.text, **_facts(event), **self._outlook.data()}  # fmt: skip
        self._stream.write(json.dumps(line) + "\n")
        self._stream.flush()


def _facts(event: Event) -> dict[str, Any]:
    if event.kind == "trial":
        trial: AnyTrial = event.data["trial"]
        figures = {"speedup": trial.timing.speedup} if isinstance(trial, MeasuredTrial) else {}
        return {"trial": trial.trial, "name": trial.proposal.name, "status": trial.status, **figures}
    return {"folder": event.data["folder"]} if event.kind == "start" else {}
