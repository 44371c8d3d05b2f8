"""Threads for the oracle: a few leads take whole cases, many hands the bands of a case.

Two pools, because a lead waits for its hands; one pool could fill up with leads that wait for each other.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

_LEADS = 3


class Crew:
    def __init__(self) -> None:
        self.leads = ThreadPoolExecutor(_LEADS, "lead")
        self.hands = ThreadPoolExecutor(max(1, (os.cpu_count() or 2) - 2), "hand")

    def close(self) -> None:
        self.leads.shutdown(cancel_futures=True)
        self.hands.shutdown(cancel_futures=True)
