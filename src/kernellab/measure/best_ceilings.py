"""The best ceilings ever measured on a machine, kept for its next runs: nothing makes a machine faster than it is.

A ceiling taken while others use the machine is too low, and would call honest kernels too good. What the same kernels
reached before, at the same size on the same device, bounds it from below. A file that cannot be read or written is none.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from kernellab.build.cache import default_folder
from kernellab.core.files import replace_file
from kernellab.core.ids import digest
from kernellab.measure.roofline import Ceilings

_FILE = "ceilings.json"


class BestCeilings:
    """`device` and `kernels` (the text that measures) decide what may be compared; `size` is in bytes moved."""

    def __init__(self, device: str, threads: int, kernels: str, path: Path | None = None) -> None:
        self._path = path or default_folder().parent / _FILE
        self._key = digest([device, threads, kernels])

    def at_least(self, size: int, now: Ceilings) -> Ceilings:
        """The better of what is measured now and whatever was before; kept for the next time."""
        known = self._read()
        name = f"{self._key}-{size}"
        best = now.at_least(known[name]) if name in known else now
        if known.get(name) != best:
            known[name] = best
            self._write(known)
        return best

    def _read(self) -> dict[str, Ceilings]:
        try:
            found = json.loads(self._path.read_text())
            return {str(name): Ceilings(**facts) for name, facts in found.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _write(self, known: dict[str, Ceilings]) -> None:
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._path, json.dumps({name: asdict(c) for name, c in known.items()}).encode())
