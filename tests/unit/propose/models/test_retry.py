from __future__ import annotations

import random
import threading
import time

import pytest

from kernellab.propose.models import ModelFault, Policy
from kernellab.propose.models.retry import persist
from support.model_server import Cut, Error, Say

from .conftest import Connect, Serve, ask

FAST = Policy(attempts=4, first_s=0.01)


def rate_limit(after: float | None = None) -> ModelFault:
    return ModelFault("rate-limit", "slow down", retryable=True, retry_after_s=after)


def test_the_wait_doubles_up_to_a_limit_and_has_jitter_from_the_generator() -> None:
    policy = Policy(attempts=10, first_s=1, most_s=8)
    waits = [policy.delay(n, rate_limit(), random.Random(3)) or 0 for n in range(1, 7)]
    assert all(base / 2 <= wait <= base for base, wait in zip((1, 2, 4, 8, 8, 8), waits, strict=True))
    assert waits == [policy.delay(n, rate_limit(), random.Random(3)) for n in range(1, 7)]
    assert policy.delay(1, rate_limit(), random.Random(4)) != waits[0]


def test_never_sooner_than_the_server_asked_and_not_at_all_if_that_is_long() -> None:
    policy, rng = Policy(first_s=0.01, patience_s=60), random.Random(0)
    assert 5 <= (policy.delay(1, rate_limit(5), rng) or 0) <= 5.5
    assert policy.delay(1, rate_limit(61), rng) is None
    assert policy.delay(5, rate_limit(5), rng) is None
    assert policy.delay(1, ModelFault("wrong-key", "no"), rng) is None


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_asks_again_until_it_is_answered(provider: str, serve: Serve, connect: Connect) -> None:
    server = serve(Error(500), Cut(), Error(429, headers={"retry-after": "0.3"}), Say("at last"))
    reply = persist(lambda: connect(server, provider).complete(ask()), FAST, random.Random(0))
    assert (reply.text, server.calls) == ("at last", 4)
    assert server.seen[3].time - server.seen[2].time >= 0.3


def test_gives_up_after_so_many_attempts_and_says_how_many(serve: Serve, connect: Connect) -> None:
    server = serve(Error(500, "oops"))
    with pytest.raises(ModelFault, match=r"oops \(4 attempts\)"):
        persist(lambda: connect(server).complete(ask()), FAST, random.Random(0))
    assert server.calls == 4, "the SDK itself must not ask again"


def test_does_not_ask_again_where_it_cannot_help(serve: Serve, connect: Connect) -> None:
    server = serve(Error(401))
    with pytest.raises(ModelFault):
        persist(lambda: connect(server).complete(ask()), FAST, random.Random(0))
    assert server.calls == 1


def test_cancelling_ends_the_wait(serve: Serve, connect: Connect) -> None:
    server, cancel = serve(Error(429, headers={"retry-after": "3600"})), threading.Event()
    patient = Policy(patience_s=7200)
    threading.Timer(0.2, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(ModelFault) as caught:
        persist(lambda: connect(server).complete(ask()), patient, random.Random(0), cancel)
    assert (caught.value.kind, server.calls) == ("cancelled", 1)
    assert time.monotonic() - started < 600
