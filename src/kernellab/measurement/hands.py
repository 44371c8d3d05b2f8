"""Pieces of work for this thread and a helper beside it: buffers are written and caches flushed while no sample runs, and a
second processor would have nothing to do meanwhile.

Whoever is free takes the next piece, so that a helper that gets no processor on a busy machine keeps nobody waiting for more
than the piece that it has begun.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def each(work: Callable[[T], R], pieces: Sequence[T]) -> list[R]:
    """What the work makes of every piece, in their order. It should spend its time without the interpreter's lock."""
    pool = _helper() if len(pieces) > 1 else None
    if pool is None:
        return [work(piece) for piece in pieces]
    left, done = deque(enumerate(pieces)), dict[int, R]()

    def take() -> None:
        while left:
            try:
                number, piece = left.popleft()
            except IndexError:  # the other one was faster
                return
            try:
                done[number] = work(piece)
            except BaseException:
                left.clear()  # nobody does what is left
                raise

    helper = pool.submit(take)
    try:
        take()
    finally:
        if not helper.cancel():
            helper.result()
    return [done[number] for number in range(len(pieces))]


@cache
def _helper() -> ThreadPoolExecutor | None:
    return ThreadPoolExecutor(1, "hand") if len(os.sched_getaffinity(0)) > 1 else None
