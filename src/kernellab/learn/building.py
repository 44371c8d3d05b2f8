"""Builds before trials: on all cores, and never beside a measurement that they would disturb."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from kernellab.search.ahead import INTERVAL_S

T = TypeVar("T")
AHEAD = 48  # an evaluator keeps a few builds more than that


def built_first(items: Iterable[T], build: Callable[[T], None], jobs: int, beside: bool) -> Iterator[T]:
    """Every item, when it is built. `beside`: builds go on while the caller works on what it got; else a part of them is
    built, and handed out when nothing is being built."""
    waiting = iter(items)
    with ThreadPoolExecutor(jobs, "build") as pool:
        if beside:
            yield from _as_they_come(waiting, build, pool)
            return
        while part := list(islice(waiting, AHEAD)):
            wait([pool.submit(build, item) for item in part])
            yield from part


def _as_they_come(waiting: Iterator[T], build: Callable[[T], None], pool: ThreadPoolExecutor) -> Iterator[T]:
    coming: dict[Future[None], T] = {pool.submit(build, item): item for item in islice(waiting, AHEAD)}
    usual = sys.getswitchinterval()
    sys.setswitchinterval(INTERVAL_S)
    try:
        while coming:
            for future in wait(coming, return_when=FIRST_COMPLETED).done:
                yield coming.pop(future)
                coming |= {pool.submit(build, item): item for item in islice(waiting, 1)}
    finally:
        sys.setswitchinterval(usual)
