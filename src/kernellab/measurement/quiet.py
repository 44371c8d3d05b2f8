"""Whether anybody else uses this machine's processors, from the kernel's own books; and waiting until nobody does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_LOOK_S = 0.5
_TOLD_S = 10.0
_NEARLY = 0.9
_IDLE, _WAITING = 3, 4  # columns of /proc/stat: idle, and idle while something is read from a disk


def idle_processors(look_s: float = _LOOK_S, stat: Path = Path("/proc/stat")) -> float:
    """How many of the processors that this process may use had nothing to do during a short look; all of them where the
    system does not say."""
    cpus = sorted(os.sched_getaffinity(0))
    before = _books(stat, cpus)
    time.sleep(look_s)
    after = _books(stat, cpus)
    return sum(map(_share, before, after)) if before else float(len(cpus))


def wait_for_quiet(needed: int, at_most_s: float, tell: Callable[[str], None], look_s: float = _LOOK_S) -> bool:
    """Wait until so many processors are idle; False when that did not happen in time."""
    deadline, told = time.monotonic() + at_most_s, -_TOLD_S
    while (idle := idle_processors(look_s)) < _NEARLY * needed:
        now = time.monotonic()
        if now >= deadline:
            return False
        if now - told >= _TOLD_S:
            told = now
            tell(
                f"waiting for a quiet machine: {idle:.1f} processors are idle, {needed} needed ({deadline - now:.0f} s left)"
            )
    return True


def _books(stat: Path, cpus: Sequence[int]) -> list[list[int]]:
    """The columns of each processor; none where the system does not say."""
    try:
        lines = {line.split()[0]: line.split()[1:] for line in stat.read_text().splitlines() if line.startswith("cpu")}
        return [[int(v) for v in lines[f"cpu{n}"]] for n in cpus if f"cpu{n}" in lines]
    except (OSError, ValueError, IndexError):
        return []


def _share(before: Sequence[int], after: Sequence[int]) -> float:
    spent = [b - a for a, b in zip(before, after, strict=True)]
    total = sum(spent)
    return (spent[_IDLE] + spent[_WAITING]) / total if total > 0 else 1.0
