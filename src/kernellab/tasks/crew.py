"""Threads for the oracle: a few leads take whole cases, many hands the bands of a case.

Two pools, because a lead waits for its hands; one pool could fill up with leads that wait for each other. All of them
give way to whatever else wants a core: builds and baselines are waited for, answers are made ahead.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

_LEADS = 3
_NICE = 10


class Crew:
    def __init__(self) -> None:
        self.leads = ThreadPoolExecutor(_LEADS, "lead", initializer=_give_way)
        self.hands = ThreadPoolExecutor(max(1, (os.cpu_count() or 2) - 2), "hand", initializer=_give_way)

    def close(self) -> None:
        self.leads.shutdown(cancel_futures=True)
        self.hands.shutdown(cancel_futures=True)


def _give_way() -> None:
    """Linux schedules threads one by one: this one alone becomes nicer."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
