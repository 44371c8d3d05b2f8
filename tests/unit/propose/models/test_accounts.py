from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kernellab.core.errors import UsageError
from kernellab.propose.models import Account, Budget, ModelFault, Request, Spent, Usage
from kernellab.propose.models.accounts import tokens_of

from .conftest import PRICES, ask

TOOK = Usage(tokens_in=10, tokens_out=5, tokens_cached=2)
WORST = tokens_of(ask()) + 100


def refused(account: Account, request: Request) -> ModelFault:
    with pytest.raises(ModelFault) as caught:
        account.reserve(request)
    assert caught.value.kind == "budget"
    assert caught.value.fix
    return caught.value


def test_books_what_the_api_reports() -> None:
    account = Account(Budget(), PRICES)
    took = account.settle(account.reserve(ask()), TOOK, 0.5)
    assert took == account.spent == Spent(calls=1, tokens_in=10, tokens_out=5, tokens_cached=2, usd=0.5)
    assert account.spent.tokens == 15


def test_a_failed_call_counts_and_so_do_its_tokens_where_reported() -> None:
    account = Account(Budget(calls=2), PRICES)
    account.settle(account.reserve(ask()), Usage(), None, failed=True)
    account.settle(account.reserve(ask()), Usage(tokens_in=9, tokens_out=0), 0.1, failed=True)
    assert account.spent == Spent(calls=2, failed=2, tokens_in=9, usd=0.1, unreported=1)
    assert "2 calls" in refused(account, ask()).reason


def test_a_reply_without_usage_is_booked_at_its_worst() -> None:
    account = Account(Budget(), PRICES)
    account.settle(account.reserve(ask()), Usage(), None)
    assert (account.spent.tokens, account.spent.unreported) == (WORST, 1)
    assert account.spent.usd > 0


def test_what_a_call_may_take_must_fit_before_it_is_made() -> None:
    account = Account(Budget(tokens=WORST), PRICES)
    account.settle(account.reserve(ask()), TOOK, None)
    assert f"15 of {WORST} tokens" in refused(account, ask()).reason
    account.reserve(ask(max_tokens=100 - 15))


def test_dollars_are_kept_to() -> None:
    worst = PRICES.cost("m", Usage(tokens_in=tokens_of(ask()), tokens_out=100)) or 0
    account = Account(Budget(usd=2.5 * worst), PRICES)
    for _ in range(2):
        account.settle(account.reserve(ask()), Usage(tokens_in=tokens_of(ask()), tokens_out=100), worst)
    assert "$" in refused(account, ask()).reason
    assert account.spent.usd <= 2.5 * worst


def test_a_budget_in_dollars_needs_a_price() -> None:
    assert "no price" in refused(Account(Budget(usd=1), PRICES), ask(model="unknown")).reason
    free = Account(Budget(tokens=1000), PRICES)
    free.settle(free.reserve(ask(model="unknown")), TOOK, None)
    assert free.spent.unpriced == 1


def test_seconds_are_the_wall_clocks() -> None:
    now = [100.0]
    account = Account(Budget(seconds=5), PRICES, clock=lambda: now[0])
    account.settle(account.reserve(ask()), TOOK, None)
    now[0] = 105.0
    assert account.out_of_time
    assert "5 s" in refused(account, ask()).reason


def test_an_account_goes_on_where_an_earlier_one_stopped() -> None:
    refused(Account(Budget(calls=3), PRICES, Spent(calls=3)), ask())


@pytest.mark.parametrize("bad", [{"usd": -1}, {"tokens": -1}, {"seconds": float("nan")}, {"usd": float("inf")}])
def test_a_budget_that_makes_no_sense_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Budget(**bad)  # type: ignore[arg-type]


def test_a_dry_run_gives_the_most_that_calls_can_take() -> None:
    estimate = Account(Budget(), PRICES).estimate(ask(), calls=10)
    assert (estimate.calls, estimate.tokens_out, estimate.tokens) == (10, 1000, 10 * WORST)
    assert estimate.usd == pytest.approx((estimate.tokens_in * 2 + 1000 * 10) / 1e6)
    unknown = Account(Budget(), PRICES).estimate(ask(model="unknown"))
    assert unknown.usd is None
    assert "unknown" in unknown.note


def test_workers_wait_for_each_other_and_never_pass_the_limit() -> None:
    """Each call may take 100 tokens of output and takes a random part: 8 workers spend the budget and no more."""
    limit = 20 * WORST
    account, rng, guard = Account(Budget(tokens=limit), PRICES), random.Random(1), threading.Lock()

    def work(_: int) -> int:
        done = 0
        while True:
            try:
                reserved = account.reserve(ask())
            except ModelFault:
                return done
            with guard:
                out = rng.randrange(20, 101)
            time.sleep(0.0005)
            account.settle(reserved, Usage(tokens_in=tokens_of(ask()), tokens_out=out), None)
            done += 1

    with ThreadPoolExecutor(8) as pool:
        calls = sum(pool.map(work, range(8)))
    assert account.spent.calls == calls > 20
    assert limit - WORST < account.spent.tokens <= limit


def test_a_worker_that_waits_can_be_stopped() -> None:
    account, cancel = Account(Budget(calls=1), PRICES), threading.Event()
    account.reserve(ask())
    threading.Timer(0.1, cancel.set).start()
    with pytest.raises(ModelFault) as caught:
        account.reserve(ask(), cancel)
    assert caught.value.kind == "cancelled"
