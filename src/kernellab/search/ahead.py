"""Builds that run ahead: on all cores beside the GPU, or none where they would disturb the processor being measured."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from kernellab.build.base import Built, NotBuilt
from kernellab.propose.base import Idea, Proposer

INTERVAL_S = 5e-4
"""Those that build give the interpreter back to the thread that judges and times after so long; ten times that is usual."""


class Ahead:
    """Hands out ideas with their builds. With `jobs` the proposer is asked for that many before their outcome is known.

    `in_order`: as they were proposed, whatever is built first: slower, and the record's order depends on no clock.
    `spare`: called when few builds are left, for what else could be done ahead.
    """

    def __init__(
        self, proposer: Proposer, build: Callable[[Idea], Built | NotBuilt], jobs: int, in_order: bool = False,
        spare: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._in_order = in_order
        self._spare = spare
        self._proposer = proposer
        self._build = build
        self._jobs = jobs
        self._pool = ThreadPoolExecutor(jobs, "build") if jobs else None
        self._running: list[tuple[Idea, Future[Built | NotBuilt]]] = []

    def next(self, most: int) -> tuple[Idea, Built | NotBuilt] | None:
        """The next idea that is built, whichever is ready first; None when there is nothing left to try.

        `most`: how many further trials there will be at most.
        """
        if self._pool is None:
            return next(((idea, self._build(idea)) for idea in self._proposer.ask(1)), None)
        while (room := min(most, self._jobs + 2) - len(self._running)) > 0 and (ideas := self._proposer.ask(room)):
            self._running += [(idea, self._pool.submit(self._build, idea)) for idea in ideas]
        if len(self._running) <= self._jobs // 4:
            self._spare()
        if not self._running:
            return None
        idea, future = self._running.pop(0 if self._in_order else self._first_done())
        return idea, future.result()

    def _first_done(self) -> int:
        done, _ = wait([future for _, future in self._running], return_when=FIRST_COMPLETED)
        return next(n for n, (_, future) in enumerate(self._running) if future in done)

    def __enter__(self) -> Ahead:
        self._interval = sys.getswitchinterval()
        if self._pool is not None:
            sys.setswitchinterval(INTERVAL_S)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setswitchinterval(self._interval)
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
