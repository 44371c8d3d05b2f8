"""Ledgers checked one after the other in the background: chain, signatures, and the whole row of each run.

A page never waits for it: what was not checked yet is shown as that. A ledger is checked again when it has changed; one
that grows, no more often than every few seconds, because all of it is read.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from kernellab.core.errors import KlabError
from kernellab.report.run_list import RunRow, read_row
from kernellab.view.places import Place, Stamp

_AGAIN_S = 5.0
_COST = 20
"""A ledger that took a second to check is left alone for so many."""


@dataclass(frozen=True)
class Checked:
    """`row`: None where `problem` says why the ledger cannot be believed or read. `stamp`: the files as they were."""

    stamp: Stamp
    row: RunRow | None
    problem: str
    at: float
    took_s: float

    def due(self, stamp: Stamp, now: float) -> bool:
        return stamp != self.stamp and now - self.at > max(_AGAIN_S, _COST * self.took_s)


def check_place(place: Place) -> Checked:
    stamp, began = place.stamp(), time.monotonic()
    row, problem = None, ""
    try:
        row = read_row(place.folder)
    except KlabError as fault:
        problem = fault.what
    except ValueError as fault:
        problem = str(fault)
    now = time.monotonic()
    return Checked(stamp, row, problem, now, now - began)


class Checks:
    """`at_once`: check when asked, for whoever writes files and has to wait anyway. `after`: nothing is checked before it is
    set, so that a first page does not share the processor with it."""

    def __init__(self, at_once: bool = False, after: threading.Event | None = None) -> None:
        self._at_once = at_once
        self._after = after
        self._done: dict[Path, Checked] = {}
        self._waiting: OrderedDict[Path, Place] = OrderedDict()
        self._guard = threading.Condition()
        self._worker: threading.Thread | None = None

    def of(self, place: Place, stamp: Stamp) -> Checked | None:
        """What is known of a run; asks for a check where that is nothing, or older than the files."""
        with self._guard:
            known = self._done.get(place.folder)
            if known is not None and not known.due(stamp, time.monotonic()):
                return known
            if not self._at_once:
                self._ask(place)
                return known
        known = self._done[place.folder] = check_place(place)
        return known

    @property
    def waiting(self) -> int:
        with self._guard:
            return len(self._waiting)

    def first(self, place: Place) -> None:
        """Somebody looks at this one: it comes before the others."""
        with self._guard:
            if place.folder in self._waiting:
                self._waiting.move_to_end(place.folder, last=False)

    def _ask(self, place: Place) -> None:
        self._waiting.setdefault(place.folder, place)
        if self._worker is None:
            self._worker = threading.Thread(target=self._work, daemon=True, name="view-checks")
            self._worker.start()
        self._guard.notify()

    def _work(self) -> None:
        if self._after is not None:
            self._after.wait()
        while True:
            with self._guard:
                while not self._waiting:
                    self._guard.wait()
                folder, place = next(iter(self._waiting.items()))
            found = check_place(place)
            with self._guard:
                self._done[folder] = found
                self._waiting.pop(folder, None)
