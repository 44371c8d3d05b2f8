"""A run that may still be written: what has come since the last look is read and added, and nothing twice."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cached_property
from pathlib import Path

from kernellab.core.errors import LedgerFault
from kernellab.ledger.entry import LEDGER_FILE, Entry, parse_entry
from kernellab.ledger.lines import Lines
from kernellab.ledger.shapes import shapes_of
from kernellab.report.paper.ledger_prefix import LedgerPrefix, Shape
from kernellab.view.places import Place

_DERIVED = ("_by_kind", "_trials", "_trial_seq", "timings", "root")
_MOST_OPEN = 12


class LiveRun(LedgerPrefix):
    """A LedgerFault, from here or from refresh(), for what cannot be read; open it anew then."""

    def __init__(self, folder: Path) -> None:
        self.guard = threading.RLock()
        self.read = 0
        super().__init__(folder)

    @cached_property
    def entries(self) -> list[Entry]:
        return self._come()

    def refresh(self) -> None:
        """Reads what was written since."""
        come = self._come()
        if not come:
            return
        known = {kind.name: kind for kind in self._typed}
        for entry in come:
            if entry.kind in known:
                self._typed[known[entry.kind]].append(self._read(known[entry.kind], entry))
        self.entries.extend(come)
        for name in _DERIVED:
            self.__dict__.pop(name, None)
        self.shapes = [Shape.of(shape) for shape in shapes_of(self)]

    def _come(self) -> list[Entry]:
        lines = Lines(self.folder / LEDGER_FILE, start=self.read)
        found: list[Entry] = []
        try:
            for line in lines:
                found.append(parse_entry(line))
        except ValueError as error:
            raise LedgerFault(f"{self.folder / LEDGER_FILE} holds a line that is no entry: {error}",
                              f"see what was changed: klab audit {self.folder}") from error  # fmt: skip
        self.read = lines.good
        return found


class OpenRuns:
    """The runs that were looked at last, kept open. A file that shrank or was replaced is read from its start."""

    def __init__(self) -> None:
        self._open: OrderedDict[Path, tuple[int, LiveRun]] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, place: Place) -> LiveRun:
        number, size = place.stamp()[0][:2]
        with self._guard:
            known = self._open.get(place.folder)
        if known is None or known[0] != number or known[1].read > size:
            known = (number, LiveRun(place.folder))
        else:
            self._refresh(place, known[1])
        with self._guard:
            self._open[place.folder] = known
            self._open.move_to_end(place.folder)
            while len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)
        return known[1]

    def _refresh(self, place: Place, run: LiveRun) -> None:
        try:
            with run.guard:
                run.refresh()
        except LedgerFault:
            with self._guard:
                self._open.pop(place.folder, None)
            raise
