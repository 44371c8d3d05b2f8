"""Journal, budget and retries together, over real HTTP and a real ledger: nothing is paid twice, nothing is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kernellab.core.errors import LedgerFault
from kernellab.ledger.journal import Ledger, check, read_entries
from kernellab.ledger.keys import SigningKey
from kernellab.ledger.run import Run as LedgerRun
from kernellab.ledger.store import Store
from kernellab.propose.models import (
    Account,
    Budget,
    Journal,
    Model,
    ModelFault,
    Policy,
    Recorded,
    ReplayModel,
    Reply,
    Request,
    open_model,
)  # fmt: skip
from kernellab.propose.models.journal import CALL as CALL_KIND
from kernellab.propose.models.journal import INTENT as INTENT_KIND
from kernellab.propose.models.journal import exchanges
from support.model_server import Cut, EchoKey, Error, Hang, ModelServer, Say

from .conftest import KEY, PRICES, Connect, Serve, ask

FAST = Policy(attempts=3, first_s=0.01)

INTENT, CALL = INTENT_KIND.name, CALL_KIND.name


class Run:
    """A run folder that can be opened, left and opened again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = SigningKey.generate()
        self.ledger: Ledger | None = None

    def open(self, model: Model, budget: Budget | None = None, **options: Any) -> Recorded:
        self.close()
        fresh = not self.folder.exists()
        self.ledger = Ledger.create(self.folder, {}, self.key) if fresh else Ledger.resume(self.folder, self.key)
        self.journal = Journal(Store(self.folder), self.ledger.write, exchanges(LedgerRun(self.folder)))
        self.account = Account(budget or Budget(), PRICES, self.journal.spent)
        return Recorded(model, self.journal, self.account, random.Random(0), FAST, **options)

    def entries(self) -> list[tuple[str, dict[str, Any]]]:
        return [(e.kind, dict(e.body)) for e in read_entries(self.folder)]

    def bodies(self, kind: str) -> list[dict[str, Any]]:
        return [body for found, body in self.entries() if found == kind]

    def close(self) -> None:
        if self.ledger is not None:
            self.ledger.close()
            self.ledger = None


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path / "run")
    yield run
    run.close()


def fault_of(ask_it: Callable[[], Reply]) -> ModelFault:
    with pytest.raises(ModelFault) as caught:
        ask_it()
    return caught.value


def test_every_request_and_reply_is_on_record_by_hash(run: Run, serve: Serve, connect: Connect) -> None:
    model = run.open(connect(serve(Say("first", usage=(100, 10)))))
    reply = model.complete(ask(call=4))
    intent, outcome = run.bodies(INTENT)[0], run.bodies(CALL)[0]
    kinds = [kind for kind, _ in run.entries()]
    assert kinds == ["run", INTENT, CALL]
    assert (intent["call"], intent["request"], intent["model"]) == (4, ask().digest, "m")
    assert (outcome["call"], outcome["status"], outcome["attempts"]) == (4, "answered", 1)
    assert outcome["usage"] == {"tokens_in": 100, "tokens_out": 10, "tokens_cached": 0}
    assert outcome["cost_usd"] == reply.cost_usd == pytest.approx(0.0003)
    store = Store(run.folder)
    assert store.get(intent["request"]) == ask().canonical
    assert Reply.model_validate(json.loads(store.get(outcome["reply"]))) == reply
    assert check(run.folder).problems == ()


def test_the_intent_is_on_record_before_the_call_is_made(run: Run, serve: Serve, connect: Connect) -> None:
    seen: list[list[str]] = []

    def script(_: dict[str, Any]) -> Say:
        seen.append([kind for kind, _ in run.entries()])
        return Say()

    run.open(connect(serve(script))).complete(ask())
    assert seen == [["run", INTENT]]


def test_what_was_answered_is_not_asked_again(run: Run, serve: Serve, connect: Connect) -> None:
    server = serve(Say("one"), Say("two"), Say("three"))
    client = connect(server)
    model = run.open(client)
    first = model.complete(ask())
    assert model.complete(ask()) == first
    assert run.open(client).complete(ask()) == first
    assert (server.calls, run.account.spent.calls) == (1, 1)
    assert run.open(client).complete(ask(call=1)).text == "two", "another sample of the same words is another call"


def test_two_threads_with_the_same_call_pay_once(run: Run, serve: Serve, connect: Connect) -> None:
    server = serve(Say("slow", drip_s=0.05))
    model = run.open(connect(server))
    with ThreadPoolExecutor(6) as pool:
        replies = set(pool.map(lambda _: model.complete(ask()).text, range(6)))
    assert (replies, server.calls) == ({"slow"}, 1)


def test_failed_attempts_count_and_are_on_record(run: Run, serve: Serve, connect: Connect) -> None:
    server = serve(Error(500, "oops"), Cut(), Say("good", usage=(100, 10)))
    model = run.open(connect(server, "anthropic"))
    assert model.complete(ask()).text == "good"
    outcome = run.bodies(CALL)[0]
    assert (outcome["attempts"], [f["kind"] for f in outcome["faults"]]) == (3, ["server-error", "cut-stream"])
    assert outcome["spent"]["tokens_in"] == 111, "the stream that broke off had reported its input"
    assert (run.account.spent.calls, run.account.spent.failed, run.account.spent.tokens) == (3, 2, 121)
    assert run.account.spent.usd == pytest.approx((111 * 2 + 10 * 10) / 1e6)
    assert len(run.bodies(INTENT)) == 1


def test_a_fault_that_the_run_goes_on_after_is_answered_from_the_record(
    run: Run, serve: Serve, connect: Connect
) -> None:
    server = serve(Error(500, "oops"))
    client = connect(server)
    fault = fault_of(lambda: run.open(client).complete(ask()))
    again = fault_of(lambda: run.open(client).complete(ask()))
    assert (fault.kind, again.kind, again.reason) == ("server-error", "server-error", fault.reason)
    assert (server.calls, run.account.spent.calls) == (3, 3)


def test_a_fault_that_stopped_the_run_is_asked_again(run: Run, serve: Serve, connect: Connect) -> None:
    server = serve(Error(401), Say("now"))
    client = connect(server)
    assert fault_of(lambda: run.open(client).complete(ask())).stops
    assert run.open(client).complete(ask()).text == "now"
    assert run.account.spent.calls == 2
    assert run.journal.doubts == []


def test_the_budget_stops_calls_before_they_are_made(run: Run, serve: Serve, connect: Connect) -> None:
    server = serve(Say())
    model = run.open(connect(server), Budget(calls=2))
    model.complete(ask(call=0))
    model.complete(ask(call=1))
    assert fault_of(lambda: model.complete(ask(call=2))).kind == "budget"
    assert model.complete(ask(call=0)).text == "hello", "what is on record costs nothing"
    assert (server.calls, len(run.bodies(INTENT))) == (2, 2)


def test_a_budget_also_ends_asking_again(run: Run, serve: Serve, connect: Connect) -> None:
    server = serve(Error(500))
    client = connect(server)
    assert fault_of(lambda: run.open(client, Budget(calls=2)).complete(ask())).kind == "budget"
    assert (server.calls, run.bodies(CALL)[0]["attempts"]) == (2, 2)
    server.script = [Say("with more money")]
    assert run.open(client, Budget(calls=3)).complete(ask()).text == "with more money"


@pytest.mark.parametrize("step", [Hang(), Hang("half"), Error(429, headers={"retry-after": "30"})])
def test_a_budget_of_seconds_ends_a_call_under_way(step: Any, run: Run, serve: Serve, connect: Connect) -> None:
    started = time.monotonic()
    fault = fault_of(lambda: run.open(connect(serve(step)), Budget(seconds=0.4)).complete(ask()))
    assert (fault.kind, fault.stops) == ("budget", True)
    assert time.monotonic() - started < 600
    assert run.bodies(CALL)[0]["fault"]["kind"] == "budget"


def test_workers_overshoot_a_budget_by_no_call(run: Run, serve: Serve, connect: Connect) -> None:
    server = serve(lambda body: Say(usage=(20, 100), drip_s=0.002))
    model = run.open(connect(server), Budget(tokens=3000))

    def work(worker: int) -> None:
        for number in range(50):
            model.complete(ask(call=50 * worker + number))

    with ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(work, worker) for worker in range(4)]
        ended = [worker.exception() for worker in workers]
        kinds = {fault.kind for fault in ended if isinstance(fault, ModelFault)}
    assert kinds == {"budget"}
    assert 3000 - 130 < run.account.spent.tokens <= 3000
    assert server.calls == run.account.spent.calls


def test_an_intent_without_outcome_is_in_doubt_and_asked_again_with_a_note(
    run: Run, serve: Serve, connect: Connect
) -> None:
    server = serve(Say("paid, perhaps"))
    client = connect(server)
    run.open(client)
    for number in range(3):
        run.journal.intend(ask())  # and the process ends here
        model = run.open(client)
        assert [i.asked_before for i in run.journal.doubts] == [number]
        assert run.account.spent.calls == number + 1
    assert model.complete(ask()).text == "paid, perhaps"
    assert "may have been paid" in run.bodies(INTENT)[-1]["note"]
    assert run.open(client).complete(ask()).text == "paid, perhaps"
    assert (server.calls, run.journal.doubts, run.account.spent.calls) == (1, [], 4)


def test_a_call_that_ends_every_run_is_not_asked_for_ever(run: Run, serve: Serve, connect: Connect) -> None:
    client = connect(server := serve(Say()))
    run.open(client)
    run.journal = Journal(Store(run.folder), run.ledger.write, most_doubts=2)  # type: ignore[union-attr]
    for _ in range(3):
        run.journal.intend(ask())
    fault = fault_of(lambda: Recorded(client, run.journal, run.account, random.Random(0)).complete(ask()))
    assert (fault.kind, server.calls) == ("in-doubt", 0)


def test_an_interrupt_leaves_the_call_in_doubt_and_the_money_free(run: Run) -> None:
    class Interrupted:
        def complete(self, request: Request, cancel: Any) -> Reply:
            raise KeyboardInterrupt

    model = run.open(Interrupted(), Budget(calls=5))  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        model.complete(ask())
    assert run.account.spent.calls == 1
    run.open(Interrupted())  # type: ignore[arg-type]
    assert len(run.journal.doubts) == 1


def test_a_record_of_another_version_is_an_error_with_a_remedy(run: Run) -> None:
    with Ledger.create(run.folder, {}, run.key) as ledger:
        ledger.append(CALL, {"status": "answered"})
    with pytest.raises(LedgerFault, match="model-call") as caught:
        exchanges(LedgerRun(run.folder))
    assert caught.value.fix


def test_the_keys_text_is_in_no_file(run: Run, serve: Serve, connect: Connect) -> None:
    client = connect(serve(EchoKey(), EchoKey(401), Error(500, f"for {KEY}"), EchoKey(200)))
    model = run.open(client)
    assert "[KLAB_MODEL_KEY]" in model.complete(ask(call=0)).text
    assert KEY not in str(fault_of(lambda: model.complete(ask(call=1))))
    assert model.complete(ask(call=2)).text
    fault = fault_of(lambda: model.complete(ask(f"my key is {KEY}", call=3)))
    assert (fault.kind, "KLAB_MODEL_KEY" in fault.reason) == ("refused", True)
    run.close()
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    assert len(files) > 4
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_replay_answers_bit_for_bit_without_a_server(run: Run, connect: Connect) -> None:
    with ModelServer([Say("one", cached=3), Error(400, "too long"), Say("three", finish="length")]) as server:
        model = run.open(connect(server))
        replies = {0: model.complete(ask()), 2: None}
        fault = fault_of(lambda: model.complete(ask("long", call=1)))
        replies[2] = model.complete(ask(call=2))
    run.close()
    replay = open_model(f"replay:{run.folder}")
    assert isinstance(replay, ReplayModel)
    assert replay.name == "m"
    assert {call: replay.complete(ask(call=call)) for call in (2, 0)} == replies
    again = fault_of(lambda: replay.complete(ask("long", call=1)))
    assert again.note == fault.note


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (ask("what is a colonel?"), "messages[0].content (then 'what is a kernel?', now 'what is a colonel?')"),
        (ask("a text of more than a few characters, that much is sure"), "messages[0].content, from character 0 on"),
        (ask(system="s"), "system (then '', now 's')"),
        (ask(temperature=0.5), "temperature (then None, now 0.5)"),
        (
            ask(messages=[*ask().model_dump()["messages"], {"role": "assistant", "content": "x"}]),
            "number of messages (then 1, now 2)",
        ),
        (ask(model="other"), "model (then 'm', now 'other')"),
        (ask(call=7), "asked as call 0, not 7"),
        (ask("x", call=7), "call 7 was never made (the run has calls 0 to 3)"),
        (ask(call=3, seed=3), "call 3 was cut before its reply came"),
    ],
)
def test_a_question_that_was_never_asked_says_what_differs(
    request_: Request, words: str, run: Run, serve: Serve, connect: Connect
) -> None:
    model = run.open(connect(serve(Say())))
    model.complete(ask())
    run.journal.intend(ask(call=3, seed=3))
    run.close()
    fault = fault_of(lambda: ReplayModel(run.folder, strict=True).complete(request_))
    assert (fault.kind, fault.stops) == ("not-recorded", True)
    assert words in fault.reason


def test_a_run_without_calls_is_nothing_to_replay(run: Run, serve: Serve, connect: Connect) -> None:
    run.open(connect(serve(Say())))
    assert "holds no model calls" in fault_of(lambda: ReplayModel(run.folder).complete(ask())).reason


def test_a_changed_reply_is_noticed(run: Run, serve: Serve, connect: Connect) -> None:
    run.open(connect(serve(Say("the truth")))).complete(ask())
    path = Store(run.folder).path(run.bodies(CALL)[0]["reply"])
    path.write_bytes(path.read_bytes().replace(b"truth", b"lie"))
    with pytest.raises(LedgerFault, match="corrupt"):
        ReplayModel(run.folder).complete(ask())


CHILD = """
import random, sys
from pathlib import Path
from concurrent.futures import ThreadPoolExecutor
from kernellab.ledger.journal import Ledger
from kernellab.ledger.keys import load_or_create_key
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.propose.models import *
from kernellab.propose.models.journal import exchanges
folder, url = Path(sys.argv[1]), sys.argv[2]
key = load_or_create_key(folder.parent / "key")
ledger = Ledger.resume(folder, key) if folder.exists() else Ledger.create(folder, {}, key)
journal = Journal(Store(folder), ledger.write, exchanges(Run(folder)))
account = Account(Budget(), load_prices(), journal.spent)
with open_model(f"openai:m@{url}") as client, ThreadPoolExecutor(3) as pool:
    model = Recorded(client, journal, account, random.Random(0))
    asked = [Request(model="m", messages=(Message(role="user", content=f"word {n}"),), call=n) for n in range(12)]
    print("\\n".join(r.text for r in pool.map(model.complete, asked)))
ledger.close()
"""


@pytest.mark.slow
def test_a_run_killed_at_random_moments_pays_no_answer_twice(tmp_path: Path, serve: Serve) -> None:
    """kill -9 again and again: every reply that is on record was paid once, and what was cut is known as such."""
    pytest.importorskip("openai")
    server = serve(lambda body: Say(body["messages"][0]["content"].upper(), drip_s=0.02))
    folder, rng, kills = tmp_path / "run", random.Random(5), 0
    command = [sys.executable, "-c", CHILD, str(folder), server.url]
    answered_then: set[int] = set()
    while True:
        already, before = server.calls, len(_bodies(folder, CALL))
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if kills < 5:
            until = time.monotonic() + 20
            while server.calls == already and child.poll() is None and time.monotonic() < until:
                time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.15))
            child.send_signal(signal.SIGKILL)
        out, err = child.communicate()
        asked = {int(seen.body["messages"][0]["content"].split()[1]) for seen in server.seen[already:]}
        assert not asked & answered_then, "an answer that was on record was asked for again"
        answered_then = {body["call"] for body in _bodies(folder, CALL)}
        assert len(answered_then) >= before
        if child.returncode == 0:
            break
        assert child.returncode == -signal.SIGKILL, err
        kills += 1
    assert kills >= 2
    assert out.split("\n")[:12] == [f"WORD {n}" for n in range(12)]
    assert server.calls <= len(_bodies(folder, INTENT)), "each call had its intent on record first"
    doubts = sum(body["asked_before"] > 0 for body in _bodies(folder, INTENT))
    assert len(_bodies(folder, INTENT)) == 12 + doubts
    assert os.path.exists(folder)


def _bodies(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [dict(e.body) for e in read_entries(folder) if e.kind == kind] if folder.exists() else []
