"""Threads for the oracle: a few leads take whole cases, many hands the bands of a case.

Two pools, because a lead waits for its hands; one pool could fill up with leads that wait for each other. Where something
is measured or built beside them, all of them give way to it: builds and baselines are waited for, answers are made ahead.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

_LEADS = 3
_NICE = 10
_AHEAD_BYTES = 16 << 30


class Crew:
    """`ahead_bytes`: of the answers that may wait to be used."""

    def __init__(
        self, leads: int = _LEADS, hands: int = 0, ahead_bytes: int = _AHEAD_BYTES, gives_way: bool = True
    ) -> None:
        begin = _give_way if gives_way else None
        self.ahead_bytes = ahead_bytes
        self.leads = ThreadPoolExecutor(leads, "lead", initializer=begin)
        self.hands = ThreadPoolExecutor(hands or max(1, (os.cpu_count() or 2) - 2), "hand", initializer=begin)

    def close(self) -> None:
        self.leads.shutdown(cancel_futures=True)
        self.hands.shutdown(cancel_futures=True)


def _give_way() -> None:
    """Linux schedules threads one by one: this one alone becomes nicer."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
