"""The best ceilings ever measured on a machine, kept for its next runs: nothing makes a machine faster than it is.

A ceiling taken while others use the machine is too low, and would call honest kernels too good. What the same kernels
reached before, at the same size on the same device, bounds it from below. A file that cannot be read or written is none.
"""

from __future__ import annotations

import json
import math
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from kernellab.build.cache import default_folder
from kernellab.core.files import replace_file
from kernellab.core.ids import digest
from kernellab.measurement.roofline import Ceilings

_FILE = "ceilings.json"
_MOST = 16.0


class BestCeilings:
    """`device` and `kernels` (the text that measures) decide what may be compared; `size` is in bytes moved."""

    def __init__(self, device: str, threads: int, kernels: str, path: Path | None = None) -> None:
        self._path = path or default_folder().parent / _FILE
        self._key = digest([device, threads, kernels])

    def at_least(self, size: int, now: Ceilings) -> Ceilings:
        """The better of what is measured now and whatever was before; kept for the next time."""
        known = self._read()
        name = f"{self._key}-{size}"
        best = now.at_least(known[name]) if name in known and _plausible(known[name], now) else now
        if known.get(name) != best:
            known[name] = best
            self._write(known)
        return best

    def _read(self) -> dict[str, Ceilings]:
        try:
            found = json.loads(self._path.read_text())
            return {str(name): Ceilings(**facts) for name, facts in found.items() if _sound(facts)}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _write(self, known: dict[str, Ceilings]) -> None:
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._path, json.dumps({name: asdict(c) for name, c in known.items()}).encode())


def _sound(facts: dict[str, object]) -> bool:
    """Three positive numbers and a truth value: the file is the user's, and may hold anything."""
    figures = [facts.get(name) for name in ("copy", "read", "flops")]
    return isinstance(facts.get("disturbed"), bool) and all(
        isinstance(v, float) and math.isfinite(v) and v > 0 for v in figures
    )


def _plausible(known: Ceilings, now: Ceilings) -> bool:
    """No busy moment hides more than that: what is further above was another machine, or nobody's measurement."""
    pairs = ((known.copy, now.copy), (known.read, now.read), (known.flops, now.flops))
    return all(before <= _MOST * measured for before, measured in pairs)
