"""The laboratory's own work between two samples, in two halves at once: while nothing is timed there is a second processor
to spare, and memory is filled, flushed and compared in half the time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Halves:
    def __init__(self) -> None:
        self._other = ThreadPoolExecutor(1, "half") if len(os.sched_getaffinity(0)) > 1 else None

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """What `work` makes of each, in order. All of it is done when this returns, and nothing goes on beside."""
        if self._other is None or len(items) < 2:
            return [work(item) for item in items]
        middle = (len(items) + 1) // 2
        later = self._other.submit(lambda: [work(item) for item in items[middle:]])
        try:
            first = [work(item) for item in items[:middle]]
        finally:
            rest = later.result()
        return first + rest

    def close(self) -> None:
        if self._other is not None:
            self._other.shutdown()
