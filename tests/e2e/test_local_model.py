"""The OpenAI-compatible client talks to a real model: streaming, usage, budget, record, replay and cancelling."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import SigningKey
from kernellab.ledger.store import Store
from kernellab.propose.models import (
    Account,
    Budget,
    Journal,
    Limits,
    Message,
    ModelFault,
    Price,
    Prices,
    Recorded,
    ReplayModel,
    Request,
    open_model,
)
from kernellab.propose.models.client import SdkClient
from support.local_model import MISSING, local_model, weights

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(weights() is None, reason=MISSING),
    pytest.mark.skipif(find_spec("openai") is None, reason="the extra 'llm' is not installed"),
]
PRICES = Prices("2025-01-01", {"smollm2": Price(1.0, 0.5, 2.0)})


@pytest.fixture(scope="module")
def client() -> Iterator[SdkClient]:
    with local_model() as url:
        opened = open_model(f"openai:smollm2@{url}", environ={}, limits=Limits(total_s=50), prices=PRICES)
        assert isinstance(opened, SdkClient)
        with opened:
            yield opened


def ask(content: str, **changes: object) -> Request:
    request = Request(
        model="smollm2", messages=(Message(role="user", content=content),), max_tokens=12, temperature=0.0, seed=1
    )
    return request.model_copy(update=changes)


def test_a_real_model_is_asked_accounted_for_recorded_and_replayed(client: SdkClient, tmp_path: Path) -> None:
    folder, account = tmp_path / "run", Account(Budget(tokens=300), PRICES)
    with Ledger.create(folder, {}, SigningKey.generate()) as ledger:
        model = Recorded(client, Journal(Store(folder), ledger.write), account, random.Random(0))
        reply = model.complete(ask("Say hello to Anna."))
        assert model.complete(ask("Say hello to Anna.")) == reply
    assert reply.text.strip()
    assert reply.finish in ("stop", "length")
    into, out = reply.usage.tokens_in or 0, reply.usage.tokens_out or 0
    assert 10 <= into <= 60
    assert 1 <= out <= 12
    assert reply.cost_usd == pytest.approx(
        (into - (reply.usage.tokens_cached or 0) + 0.5 * (reply.usage.tokens_cached or 0) + 2 * out) / 1e6
    )
    assert (account.spent.calls, account.spent.tokens) == (1, into + out)
    assert ReplayModel(folder).complete(ask("Say hello to Anna.")) == reply


def test_the_number_of_tokens_is_kept_to(client: SdkClient) -> None:
    reply = client.complete(ask("Count from one to a hundred.", max_tokens=3))
    assert (reply.finish, reply.usage.tokens_out) == ("length", 3)


def test_a_reply_under_way_can_be_cancelled_and_the_server_goes_on(client: SdkClient) -> None:
    cancel = threading.Event()
    threading.Timer(1.0, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(ModelFault) as caught:
        client.complete(ask("Tell me a very long story.", max_tokens=800), cancel)
    assert caught.value.kind == "cancelled"
    assert time.monotonic() - started < 5
    assert client.complete(ask("Say yes.", max_tokens=2)).usage.tokens_out == 2, "its only slot is free again"


def test_a_prompt_that_is_too_long_is_refused_with_the_servers_words(client: SdkClient) -> None:
    with pytest.raises(ModelFault) as caught:
        client.complete(ask("word " * 2000))
    assert (caught.value.kind, caught.value.retryable) == ("refused", False)
    assert "context" in caught.value.reason
