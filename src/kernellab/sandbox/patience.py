"""How long a job is waited for: by the clock on a quiet machine; where others share the processors, by its share of them.

Covered: a compiler that is slow because the machine is busy is not called endless. Not covered: which of the processes that
run is the job's own; one that starts many buys itself time, up to MOST times the limit.
"""

from __future__ import annotations

import os
import time

MOST = 8.0
LOOK_S = 0.25
"""How often the machine is looked at: what it did in between is taken to be the same."""


class Patience:
    """From now on. `limit_s`: on a machine of its own."""

    def __init__(self, limit_s: float) -> None:
        self._left, self._latest = limit_s, time.monotonic() + MOST * limit_s
        self._last = time.monotonic()

    def left(self) -> float:
        """Seconds, as far as is known now; 0 or less when it has run out."""
        now = time.monotonic()
        passed, self._last = now - self._last, now
        self._left -= passed * (share_of_processors() if passed < 2 * LOOK_S else LOOK_S / passed)
        return min(self._left, self._latest - now)


def share_of_processors() -> float:
    """Of a processor, that one of the processes which want to run gets; 1 where nobody tells."""
    try:
        with open("/proc/loadavg") as file:
            running = int(file.read().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return 1.0
    return min(1.0, len(os.sched_getaffinity(0)) / max(1, running))
