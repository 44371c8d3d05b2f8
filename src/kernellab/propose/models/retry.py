"""Asking again: exponential back-off with jitter from an explicit generator, never sooner than the server asked."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from kernellab.propose.models.base import NEVER, Cancel, ModelFault, Reply

_POLL_S = 0.02


@dataclass(frozen=True)
class Policy:
    """`attempts` counts the first one. A server that asks for more than `patience_s` is not waited for."""

    attempts: int = 5
    first_s: float = 1.0
    most_s: float = 60.0
    patience_s: float = 120.0

    def delay(self, failed: int, fault: ModelFault, rng: random.Random) -> float | None:
        """Seconds to wait after `failed` attempts; None: give up."""
        if not fault.retryable or failed >= self.attempts:
            return None
        backoff = min(self.most_s, self.first_s * 2.0 ** (failed - 1)) * rng.uniform(0.5, 1.0)
        if fault.retry_after_s is None:
            return backoff
        if fault.retry_after_s > self.patience_s:
            return None
        return fault.retry_after_s + min(backoff, 0.1 * fault.retry_after_s)


def persist(attempt: Callable[[], Reply], policy: Policy, rng: random.Random, cancel: Cancel = NEVER) -> Reply:
    """The first reply, or the last fault."""
    failed = 0
    while True:
        try:
            return attempt()
        except ModelFault as fault:
            failed += 1
            wait = policy.delay(failed, fault, rng)
            if wait is None:
                raise _worn_out(fault, failed) from None
        pause(wait, cancel)


def pause(seconds: float, cancel: Cancel) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if cancel.is_set():
            raise ModelFault("cancelled", "stopped while waiting to ask again", "resume the run to ask again")
        time.sleep(min(_POLL_S, left))


def _worn_out(fault: ModelFault, failed: int) -> ModelFault:
    if failed == 1:
        return fault
    reason = f"{fault.reason} ({failed} attempts)"
    return ModelFault(fault.kind, reason, fault.fix, retryable=fault.retryable, retry_after_s=fault.retry_after_s,
                      usage=fault.usage)  # fmt: skip
