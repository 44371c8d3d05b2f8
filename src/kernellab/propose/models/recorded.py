"""The model that the scientist uses: a client with a journal, a budget and patience around it."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kernellab.propose.models.accounts import Account, Spent
from kernellab.propose.models.base import NEVER, Cancel, FaultNote, Model, ModelFault, Reply, Request, Usage
from kernellab.propose.models.journal import Journal, Name
from kernellab.propose.models.keys import Scrubber
from kernellab.propose.models.retry import Policy, persist


class Recorded:
    """Answers from the journal what it holds; else sets money aside, writes the intent, asks, books and records."""

    def __init__(
        self, model: Model, journal: Journal, account: Account, rng: random.Random,
        policy: Policy | None = None, scrub: Scrubber | None = None,
    ) -> None:  # fmt: skip
        self._model = model
        self._journal = journal
        self._account = account
        self._rng = rng
        self._policy = policy or Policy()
        self._scrub = scrub or Scrubber.of_environment()
        self._guard = threading.Lock()
        self._turns: dict[Name, tuple[threading.Lock, int]] = {}

    def complete(self, request: Request, cancel: Cancel = NEVER) -> Reply:
        self._refuse_keys(request)
        with self._turn((request.call, request.digest)):
            if (kept := self._journal.answer(request)) is not None:
                return kept
            return _Asking(self._model, self._journal, self._account, request, cancel).run(self._policy, self._rng)

    def _refuse_keys(self, request: Request) -> None:
        if variable := self._scrub.found(request.canonical.decode()):
            raise ModelFault("refused", f"the prompt holds the key in {variable}: it was not sent",
                             "take the key out of the task, the template or the candidate")  # fmt: skip

    @contextmanager
    def _turn(self, name: Name) -> Iterator[None]:
        """Two threads with the same call: the second waits and is answered from the journal."""
        with self._guard:
            lock, waiting = self._turns.get(name, (threading.Lock(), 0))
            self._turns[name] = (lock, waiting + 1)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, waiting = self._turns.pop(name)
                if waiting > 1:
                    self._turns[name] = (lock, waiting - 1)


class _Asking:
    """One call with all its attempts."""

    def __init__(self, model: Model, journal: Journal, account: Account, request: Request, cancel: Cancel) -> None:
        self._model = model
        self._journal = journal
        self._account = account
        self._request = request
        self._cancel = _Until(cancel, account)
        self._spent = Spent()
        self._faults: list[FaultNote] = []
        self._intended = False

    def run(self, policy: Policy, rng: random.Random) -> Reply:
        try:
            reply = persist(self._attempt, policy, rng, self._cancel)
        except ModelFault as raised:
            fault = self._cancel.told(raised)
            if self._intended:
                self._journal.failed(self._request, fault, self._spent, self._faults)
            raise fault from None
        self._journal.answered(self._request, reply, self._spent, self._faults)
        return reply

    def _attempt(self) -> Reply:
        reserved = self._account.reserve(self._request, self._cancel)
        usage, cost, failed = Usage(), None, True
        try:
            if not self._intended:
                self._journal.intend(self._request)
                self._intended = True
            reply = self._model.complete(self._request, self._cancel)
            usage, cost, failed = reply.usage, reply.cost_usd, False
        except ModelFault as fault:
            usage, cost = fault.usage, self._account.prices.cost(self._request.model, fault.usage.charged)
            self._faults.append(fault.note)
            raise
        finally:
            self._spent = self._spent.plus(self._account.settle(reserved, usage, cost, failed))
        return reply


class _Until:
    """Cancelled when the caller says so, or when the budget of seconds is spent."""

    def __init__(self, cancel: Cancel, account: Account) -> None:
        self._cancel = cancel
        self._account = account

    def is_set(self) -> bool:
        return self._cancel.is_set() or self._account.out_of_time

    def told(self, fault: ModelFault) -> ModelFault:
        """Out of time is the budget's doing, not the caller's."""
        if fault.kind != "cancelled" or self._cancel.is_set():
            return fault
        return ModelFault("budget", f"the budget of {self._account.budget.seconds:g} s is spent",
                          "raise that budget and resume the run", usage=fault.usage)  # fmt: skip
