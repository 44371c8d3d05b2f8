"""Both clients against a real server on loopback: one contract, and every way in which a server goes wrong."""

from __future__ import annotations

import gc
import logging
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import Any

import pytest

from kernellab.propose.models import Limits, ModelFault, Request, Usage, open_model
from support.model_server import HTML, Cut, EchoKey, Error, Hang, ModelServer, Raw, Say, StreamError

from .conftest import KEY, PATIENT, PRICES, Connect, Serve, ask

BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])


def fault_of(client: Any, request: Request, cancel: Any = None) -> ModelFault:
    with pytest.raises(ModelFault) as caught:
        client.complete(request, cancel) if cancel else client.complete(request)
    assert KEY not in "".join(traceback.format_exception(caught.value)) + repr(caught.value.__dict__)
    assert caught.value.__context__ is None
    assert caught.value.fix
    return caught.value


@pytest.mark.heavy
@BOTH
def test_streams_a_reply_with_the_usage_that_the_api_reports(provider: str, serve: Serve, connect: Connect) -> None:
    server = serve(Say("int main() { return 'é'; }", usage=(1000, 200), cached=400))
    request = ask(system="be brief", temperature=0.5, seed=7, stop=("END",))
    client, began = connect(server, provider), time.monotonic()
    reply = client.complete(request)
    assert 0 < reply.seconds <= time.monotonic() - began
    assert reply.text == "int main() { return 'é'; }"
    assert reply.finish == "stop"
    assert reply.usage == Usage(tokens_in=1000, tokens_out=200, tokens_cached=400)
    assert reply.cost_usd == pytest.approx((600 * 2 + 400 * 1 + 200 * 10) / 1e6)
    assert reply.request == request.digest
    sent = server.seen[0].body
    assert (sent["model"], sent["max_tokens"], sent["temperature"], sent["stream"]) == ("m", 100, 0.5, True)
    assert server.seen[0].key == KEY
    if provider == "openai":
        assert [m["role"] for m in sent["messages"]] == ["system", "user"]
        assert (sent["seed"], sent["stop"]) == (7, ["END"])
    else:
        assert (sent["system"], sent["stop_sequences"]) == ("be brief", ["END"])
        assert "seed" not in sent


@BOTH
def test_leaves_to_the_server_what_was_not_asked_for(provider: str, serve: Serve, connect: Connect) -> None:
    server = serve()
    connect(server, provider).complete(ask())
    assert not {"temperature", "seed", "stop", "stop_sequences", "system"} & set(server.seen[0].body)


@BOTH
def test_takes_a_reply_that_is_not_streamed(provider: str, serve: Serve, connect: Connect) -> None:
    reply = connect(serve(Say("whole", plain=True)), provider).complete(ask())
    assert (reply.text, reply.finish, reply.usage.tokens_in, reply.usage.tokens_out) == ("whole", "stop", 11, 7)


@BOTH
def test_says_when_the_reply_was_cut_by_max_tokens(provider: str, serve: Serve, connect: Connect) -> None:
    assert connect(serve(Say(finish="length")), provider).complete(ask()).finish == "length"


def test_a_reply_without_usage_has_no_cost(serve: Serve, connect: Connect) -> None:
    reply = connect(serve(Say(usage=None))).complete(ask())
    assert (reply.usage, reply.cost_usd) == (Usage(), None)


@pytest.mark.sample(15)
@BOTH
@pytest.mark.parametrize(
    ("step", "kind", "retryable", "words"),
    [
        (Error(401, "Incorrect API key", "authentication_error"), "wrong-key", False, "401"),
        (Error(403, "no access", "permission_error"), "wrong-key", False, "403"),
        (Error(404, "The model `m` does not exist", "not_found_error"), "unknown-model", False, "model"),
        (Error(404, html=True), "server-error", False, "404"),
        (Error(400, "prompt is too long", "invalid_request_error"), "refused", False, "too long"),
        (Error(413, "too large", "request_too_large"), "refused", False, "413"),
        (Error(418, "a teapot"), "refused", False, "teapot"),
        (Error(402, "pay first"), "rate-limit", False, "402"),
        (Error(429, "slow down", "rate_limit_error"), "rate-limit", True, "slow down"),
        (Error(429, "no money left", "insufficient_quota", "insufficient_quota"), "rate-limit", False, "no money"),
        (Error(500, "oops"), "server-error", True, "500"),
        (Error(502, html=True), "server-error", True, "502"),
        (Error(529, "overloaded", "overloaded_error"), "server-error", True, "529"),
        (Cut(), "cut-stream", True, "broke off"),
        (Cut(reset=True), "cut-stream", True, "broke off"),
        (HTML, "not-json", True, "no reply that can be read"),
        (Raw(b"data: {not json\n\n", "text/event-stream"), "not-json", True, ""),
        (Raw(b"event: message_start\ndata: [1, 2]\n\n", "text/event-stream"), "not-json", True, ""),
        (Raw(b"data: {\"a\": 1}\n\n", "text/event-stream"), "not-json", True, ""),
        (Raw(b"event: x\ndata: {\"choices\": 3, \"delta\": 4, \"type\": 5}\n\n", "text/event-stream"), "not-json", True, ""),
        (Raw(b""), "not-json", True, ""),
        (Raw(b"[]"), "not-json", True, "list"),
        (Raw(b'{"choices": [7], "content": [7]}'), "not-json", True, ""),
        (Raw(b"\xff\xfe\x00"), "not-json", True, ""),
        (Raw(b"", "text/event-stream"), "not-json", True, ""),
    ],
)  # fmt: skip
def test_each_fault_has_its_kind_and_remedy(
    provider: str, step: Any, kind: str, retryable: bool, words: str, serve: Serve, connect: Connect
) -> None:
    server = serve(step)
    fault = fault_of(connect(server, provider), ask())
    assert (fault.kind, fault.retryable) == (kind, retryable), fault.reason
    assert words in fault.reason
    assert len(fault.reason) <= 300
    assert server.calls == 1
    if kind == "wrong-key":
        assert "KLAB_MODEL_KEY" in fault.fix


@BOTH
def test_an_error_within_the_stream_is_a_fault(provider: str, serve: Serve, connect: Connect) -> None:
    fault = fault_of(connect(serve(StreamError()), provider), ask())
    assert (fault.kind, fault.retryable) == ("server-error", True)
    assert "too many of us" in fault.reason


@BOTH
def test_a_stream_that_stops_without_an_end_is_cut(provider: str, serve: Serve, connect: Connect) -> None:
    openai = b'data: {"choices": [{"index": 0, "delta": {"content": "half"}}]}\n\n'
    delta = b'{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "half"}}'
    anthropic = b"event: content_block_delta\ndata: " + delta + b"\n\n"
    server = serve(Raw(openai if provider == "openai" else anthropic, "text/event-stream"))
    assert fault_of(connect(server, provider), ask()).kind == "cut-stream"


@BOTH
@pytest.mark.parametrize("step", [Hang(), Hang("half")])
def test_a_server_that_hangs_is_left_in_time(provider: str, step: Hang, serve: Serve, connect: Connect) -> None:
    server = serve(step)
    started = time.monotonic()
    limits = Limits(first_s=600, total_s=4) if step.text else Limits(first_s=2, total_s=600)
    fault = fault_of(connect(server, provider, limits), ask())
    assert time.monotonic() - started < 600
    assert (fault.kind, fault.retryable) == ("time-out", True)
    assert ("not complete within 4 s" if step.text else "no token came within 2 s") in fault.reason
    assert server.asked.wait(600)
    assert server.seen[0].gone.wait(600), "the connection stayed open"


@BOTH
def test_a_model_that_thinks_first_is_alive(provider: str, serve: Serve, connect: Connect) -> None:
    server = serve(Say("at last", thoughts=30, drip_s=0.2))
    assert connect(server, provider, Limits(first_s=5, total_s=600)).complete(ask()).text == "at last"


@BOTH
def test_a_redirect_is_not_followed_and_takes_no_key_along(provider: str, serve: Serve, connect: Connect) -> None:
    other = serve(Say())
    server = serve(Error(307, headers={"location": f"{other.url}/chat/completions"}))
    fault = fault_of(connect(server, provider), ask())
    assert (fault.kind, fault.retryable, other.calls) == ("server-error", False, 0)
    assert "moved" in fault.reason


@BOTH
def test_a_slow_drip_ends_at_the_total(provider: str, serve: Serve, connect: Connect) -> None:
    server = serve(Say("x" * 1000, pieces=1000, drip_s=0.05))
    fault = fault_of(connect(server, provider, Limits(first_s=600, total_s=4)), ask())
    assert fault.kind == "time-out"
    assert server.asked.wait(600)
    assert server.seen[0].gone.wait(600)


@BOTH
@pytest.mark.parametrize("step", [Hang(), Hang("half"), Say("x" * 1000, pieces=1000, drip_s=0.05)])
def test_cancelling_closes_the_connection(provider: str, step: Any, serve: Serve, connect: Connect) -> None:
    server, cancel = serve(step), threading.Event()
    threading.Thread(target=lambda: server.asked.wait(600) and cancel.set()).start()
    started = time.monotonic()
    fault = fault_of(connect(server, provider), ask(), cancel)
    assert (fault.kind, fault.retryable) == ("cancelled", False)
    assert time.monotonic() - started < 600
    assert server.seen[0].gone.wait(600)


@BOTH
def test_ten_megabytes_are_cut_off(provider: str, serve: Serve, connect: Connect) -> None:
    server = serve(Say("x" * 10_000_000, pieces=1000))
    fault = fault_of(connect(server, provider), ask())
    assert (fault.kind, fault.retryable, fault.stops) == ("too-long", False, False)
    assert "2,000,000" in fault.reason


def test_ten_megabytes_in_one_piece_too(serve: Serve, connect: Connect) -> None:
    assert fault_of(connect(serve(Say("x" * 10_000_000, pieces=1))), ask()).kind == "too-long"
    assert fault_of(connect(serve(Say("x" * 10_000_000, plain=True))), ask()).kind == "too-long"


def test_a_refusal_is_a_fault_with_its_usage(serve: Serve, connect: Connect) -> None:
    refused = fault_of(connect(serve(Say(finish="content_filter"))), ask())
    assert (refused.kind, refused.retryable) == ("refused", False)
    declined = fault_of(connect(serve(Say(finish="refusal")), "anthropic"), ask())
    assert (declined.kind, declined.usage.tokens_in, declined.usage.tokens_out) == ("refused", 11, 7)


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"retry-after": "7"}, 7, 7),
        ({"retry-after-ms": "1500"}, 1.5, 1.5),
        ({"retry-after": "soon"}, None, None),
        ({}, None, None),
    ],
)
def test_reads_how_long_the_server_wants_to_be_left_alone(
    headers: dict[str, str], low: float | None, high: float | None, serve: Serve, connect: Connect
) -> None:
    fault = fault_of(connect(serve(Error(429, headers=headers))), ask())
    assert fault.retry_after_s == low == high


def test_reads_a_date_to_wait_for(serve: Serve, connect: Connect) -> None:
    step = Error(429, headers={"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert 25 < (fault_of(connect(serve(step)), ask()).retry_after_s or 0) < 31


def test_a_server_that_is_not_there(connect: Connect) -> None:
    with ModelServer() as server:
        pass
    fault = fault_of(connect(server), ask())
    assert (fault.kind, fault.stops) == ("unreachable", True)
    assert server.url in fault.fix


@BOTH
def test_a_key_that_a_server_sends_back_is_taken_out(provider: str, serve: Serve, connect: Connect) -> None:
    server = serve(EchoKey(), EchoKey(401))
    client = connect(server, provider)
    assert client.complete(ask()).text == "your key is [KLAB_MODEL_KEY], is it not?"
    assert "[KLAB_MODEL_KEY]" in fault_of(client, ask()).reason


@BOTH
def test_no_log_and_no_repr_shows_the_key(
    provider: str, serve: Serve, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = connect(serve(Say(), Error(401), Cut()), provider)
    client.complete(ask())
    faults = [fault_of(client, ask()) for _ in range(2)]
    shown = [repr(client), str(client), *map(repr, faults), *map(str, faults), caplog.text]
    shown += [repr(r.args) + repr(r.msg) for r in caplog.records]
    assert caplog.records
    assert not [text for text in shown if KEY in text]


def test_several_threads_share_a_client(serve: Serve, connect: Connect) -> None:
    server = serve(lambda body: Say(body["messages"][0]["content"].upper()))
    client = connect(server)
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda n: client.complete(ask(f"word {n}", call=n)).text, range(40)))
    assert replies == [f"WORD {n}" for n in range(40)]
    assert server.calls == 40


def test_a_closed_client_leaves_no_thread(serve: Serve) -> None:
    pytest.importorskip("openai")
    before = set(threading.enumerate())
    client: Any = open_model(f"openai:m@{serve(Say()).url}", limits=PATIENT, prices=PRICES)
    with client:
        client.complete(ask())
    gc.collect()
    assert not [t for t in set(threading.enumerate()) - before if t.name.startswith("klab-model")]
    with pytest.raises(ValueError, match="closed"):
        client.complete(ask())
    client.close()
