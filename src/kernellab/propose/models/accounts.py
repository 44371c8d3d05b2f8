"""The budget of a run: what a call may cost at most is set aside before it is made, what it did cost is booked after.

So K workers together overshoot a limit by what an estimate of input tokens was off, and never by more than the
calls that were in flight. Failed calls count: the attempt always, their tokens where the API reports them.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kernellab.core.errors import UsageError
from kernellab.core.records import Record
from kernellab.propose.models.base import NEVER, Cancel, ModelFault, Request, Usage
from kernellab.propose.models.prices import Prices

_BYTES_A_TOKEN = 3  # source code and English have 3 to 4 bytes a token
_TOKENS_A_MESSAGE = 8
_POLL_S = 0.02


@dataclass(frozen=True)
class Budget:
    """None: no limit. `calls` counts attempts, `seconds` the wall clock since the account was opened."""

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("usd", "tokens", "calls", "seconds"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise UsageError(f"a budget of {value} {name} makes no sense", f"give --budget-{name} a number above 0")


class Spent(Record):
    """`unreported`: calls without usage (a reply's worst case is then booked); `unpriced`: calls without a price."""

    calls: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    usd: float = 0.0
    unreported: int = 0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def plus(self, other: Spent) -> Spent:
        return Spent(**{name: getattr(self, name) + getattr(other, name) for name in Spent.model_fields})


@dataclass(frozen=True)
class Estimate:
    """For a dry run: the most that these calls can take; `usd` is None where no price is known."""

    calls: int
    tokens_in: int
    tokens_out: int
    usd: float | None
    note: str

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True)
class Reservation:
    model: str
    worst: Usage
    tokens: int
    usd: float


@dataclass
class Account:
    """Shared by all workers of a run. `spent` continues an earlier part of it."""

    budget: Budget
    prices: Prices
    spent: Spent = field(default_factory=Spent)
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._in_flight: list[Reservation] = []
        self._opened = self.clock()

    def estimate(self, request: Request, calls: int = 1) -> Estimate:
        worst = _worst(request)
        usd = self.prices.cost(request.model, worst)
        return Estimate(calls, calls * (worst.tokens_in or 0), calls * request.max_tokens,
                        None if usd is None else calls * usd, self.prices.note(request.model))  # fmt: skip

    def reserve(self, request: Request, cancel: Cancel = NEVER) -> Reservation:
        """Waits for calls in flight if only they are in the way; a fault when the budget itself is."""
        asked = self._asked(request)
        with self._changed:
            while short := self._short(asked, self._in_flight):
                if lasting := self._short(asked, []):
                    raise ModelFault("budget", lasting, "raise that budget, or ask for shorter replies (max_tokens)")
                if cancel.is_set():
                    raise ModelFault("cancelled", f"stopped while waiting: {short}", "resume the run to ask again")
                self._changed.wait(_POLL_S)
            self._in_flight.append(asked)
        return asked

    def settle(self, reserved: Reservation, usage: Usage, cost: float | None, failed: bool = False) -> Spent:
        """Books what a call did take, and returns that."""
        unreported = not usage.reported
        if unreported and not failed:
            usage = reserved.worst
            cost = self.prices.cost(reserved.model, usage)
        took = Spent(
            calls=1, failed=int(failed), tokens_in=usage.tokens_in or 0, tokens_out=usage.tokens_out or 0,
            tokens_cached=usage.tokens_cached or 0, usd=cost or 0.0, unreported=int(unreported),
            unpriced=int(self.prices.of(reserved.model) is None),
        )  # fmt: skip
        with self._changed:
            self._in_flight.remove(reserved)
            self.spent = self.spent.plus(took)
            self._changed.notify_all()
        return took

    @property
    def out_of_time(self) -> bool:
        return self.budget.seconds is not None and self.clock() - self._opened >= self.budget.seconds

    def _asked(self, request: Request) -> Reservation:
        worst = _worst(request)
        usd = self.prices.cost(request.model, worst)
        if usd is None and self.budget.usd is not None:
            raise ModelFault("budget", f"a budget in dollars cannot be kept: {self.prices.note(request.model)}",
                             "give its price, or use --budget-tokens")  # fmt: skip
        return Reservation(request.model, worst, (worst.tokens_in or 0) + request.max_tokens, usd or 0.0)

    def _short(self, asked: Reservation, others: list[Reservation]) -> str:
        """What is missing for this call beside those others; nothing: it fits."""
        budget, spent = self.budget, self.spent
        if self.out_of_time:
            return f"the budget of {budget.seconds:g} s is spent"
        if budget.calls is not None and spent.calls + len(others) + 1 > budget.calls:
            return f"the budget of {budget.calls} calls is spent"
        tokens = spent.tokens + sum(o.tokens for o in others)
        if budget.tokens is not None and tokens + asked.tokens > budget.tokens:
            return (
                f"{spent.tokens:,} of {budget.tokens:,} tokens are spent, and the next call may take {asked.tokens:,}"
            )
        usd = spent.usd + sum(o.usd for o in others)
        if budget.usd is not None and usd + asked.usd > budget.usd:
            return f"${spent.usd:.4f} of ${budget.usd:g} are spent, and the next call may cost ${asked.usd:.4f}"
        return ""


def tokens_of(request: Request) -> int:
    """An estimate from the high side; only the server knows."""
    texts = [request.system, *(m.content for m in request.messages)]
    return sum(-(-len(text.encode()) // _BYTES_A_TOKEN) + _TOKENS_A_MESSAGE for text in texts)


def _worst(request: Request) -> Usage:
    return Usage(tokens_in=tokens_of(request), tokens_out=request.max_tokens, tokens_cached=0)
