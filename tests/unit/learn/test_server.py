"""The door over real HTTP with real C kernels: what is off is answered in words, and the next request is answered too."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.unit.learn.kernels import ALSO_HONEST, CHEATS, HONEST, WRONG, code, reply

from kernellab.core.loopback import bind
from kernellab.learn import RewardService
from kernellab.learn.client import RewardClient, RewardError
from kernellab.learn.server import MOST_BODY, RewardServer
from kernellab.learn.trl import trl_reward

TOKEN = "a-token-of-some-length"
Ask = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture(scope="module")
def port(service: RewardService) -> Iterator[int]:
    with bind("127.0.0.1", 0) as listening:
        server = RewardServer(service, listening, TOKEN)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield listening.getsockname()[1]
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def client(port: int) -> RewardClient:
    return RewardClient(f"http://127.0.0.1:{port}", TOKEN)


@pytest.fixture
def ask(port: int) -> Ask:
    """Any request at all; the status and the object that came back."""

    def asked(
        method: str = "POST", path: str = "/score", body: bytes = b"{}", token: str = TOKEN, **headers: str
    ) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        given = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request(method, path, body, {**given, **headers})
        answer = connection.getresponse()
        found = json.loads(answer.read())
        connection.close()
        return answer.status, found

    return asked


def samples(*replies: str, **fields: str) -> bytes:
    return json.dumps(
        {"samples": [{"id": f"{abs(hash(r))}-{n}", "reply": r, **fields} for n, r in enumerate(replies)]}
    ).encode()


@pytest.mark.heavy
def test_replies_are_scored_and_the_facts_name_what_may_be_asked_for(client: RewardClient) -> None:
    facts = client.facts()
    assert facts["tasks"] == {"cube": ["N=65536", "N=32768"]}
    assert (facts["backend"], facts["form"], facts["most_samples"]) == ("c", "log", 32)
    good, wrong = client.score([HONEST, WRONG], task="cube", shape="N=65536")
    assert good["accuracy"] == 1
    assert good["reward"] is None or good["reward"] > 0
    assert (wrong["reward"], wrong["shape"]) == (0.0, "N=65536")
    assert "5003" not in json.dumps([facts, good, wrong])


@pytest.mark.heavy
def test_a_reply_whose_code_holds_markers_is_read_as_code(client: RewardClient) -> None:
    (scored,) = client.score([reply(code(head="/* <answer> and </answer> and <think> */"))])
    assert scored["accuracy"] == 1


@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS.keys())
def test_a_cheat_gets_nothing_through_the_door(client: RewardClient, cheat: str) -> None:
    assert client.score([cheat])[0]["reward"] == 0.0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "format: empty"),
        ("I would rather not.", "format: no-answer"),
        (HONEST + ALSO_HONEST, "format: two-answers"),
        ("<answer>" + "x" * 2_000_000, "format: too-large"),
        (HONEST.replace("FLAGS", "import triton\nFLAGS"), "format: wrong-backend"),
        (HONEST.replace("FLAGS", "\ud83d FLAGS"), "format: not-text"),
        (HONEST.replace("def launch", "def lunch"), "format: no-launch"),
        (HONEST.replace("```python", "```c"), "format: not-python"),
        (HONEST.rpartition("```")[0], "format: unclosed-code"),
    ],
    ids=["empty", "no answer", "two answers", "2 MB", "other back end", "no text", "no launch", "no Python", "cut off"],
)
def test_a_reply_that_cannot_be_read_is_worth_nothing_and_is_told_why(
    client: RewardClient, text: str, why: str
) -> None:
    (scored,) = client.score([text])
    assert (scored["reward"], scored["format"], scored["why"]) == (0.0, 0, why)
    assert scored["feedback"]


def test_a_batch_without_any_reward_is_told_to_teach_nothing(ask: Ask) -> None:
    status, found = ask(body=samples("none", "nothing"))
    assert (status, [scored["reward"] for scored in found["rewards"]]) == (200, [0.0, 0.0])
    assert "has no advantage" in found["note"]
    assert ask(body=b'{"samples": []}') == (200, {"rewards": [], "note": ""})


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        ({"token": ""}, 401, "a bearer token is needed"),
        ({"token": "another-token-of-length"}, 401, "a bearer token is needed"),
        ({"token": TOKEN.upper()}, 401, "a bearer token is needed"),
        ({"token": "", "method": "GET", "path": "/"}, 401, "a bearer token is needed"),
        ({"Host": "evil.example:80"}, 403, "only programs of this machine"),
        ({"Origin": "https://evil.example"}, 403, "only programs of this machine"),
        ({"path": "/scores"}, 404, "there is no POST /scores"),
        ({"method": "GET", "path": "/score"}, 404, "there is no GET /score"),
        ({"body": b"\xff\xfe{}"}, 400, "the body is not UTF-8: byte 0"),
        ({"body": b'{"samples": ['}, 400, "the body is not JSON"),
        ({"body": b"[" * 100_000}, 400, "the body is not JSON"),
        ({"body": b"[]"}, 400, "the body is no JSON object"),
        ({"body": b"{}"}, 400, "samples are a list of objects"),
        ({"body": b'{"samples": [], "reward": 9}'}, 400, "'reward' is not known"),
        ({"body": b'{"samples": [{"id": "1"}, {}]}'}, 400, "sample 1 has no usable id"),
        ({"body": samples(HONEST, task="sphere")}, 400, "there is no task 'sphere' here"),
        ({"body": samples(HONEST, shape="N=12")}, 400, "cube is not rewarded at N=12"),
        ({"body": samples(*["none"] * 33)}, 400, "a batch of 33 samples is too large: 32 are taken"),
    ],
)  # fmt: skip
def test_a_request_that_is_off_is_told(ask: Ask, request_: dict[str, Any], status: int, words: str) -> None:
    found, body = ask(**request_)
    assert (found, words in body["error"]) == (status, True), body
    assert body["fix"]
    assert ask("GET", "/")[0] == 200


def _raw(port: int, text: str) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=600) as made:
        made.sendall(text.encode())
        made.shutdown(socket.SHUT_WR)
        return made.makefile("rb").read()


def test_a_body_is_as_long_as_it_says_and_not_too_long(port: int, ask: Ask) -> None:
    head = f"POST /score HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
    assert b"411" in _raw(port, head + "\r\n").splitlines()[0]
    assert b"413" in _raw(port, head + f"Content-Length: {MOST_BODY + 1}\r\n\r\n").splitlines()[0]
    assert b"the body was cut off: 2 of 10 bytes came" in _raw(port, head + "Content-Length: 10\r\n\r\n{}")
    assert ask("GET", "/")[0] == 200


def test_a_client_says_what_the_service_said(port: int) -> None:
    with pytest.raises(RewardError) as caught:
        RewardClient(f"http://127.0.0.1:{port}", "no-token-of-mine").score([HONEST])
    assert (caught.value.status, caught.value.what) == (401, "a bearer token is needed")


def test_trainers_at_once_get_their_own_answers(client: RewardClient) -> None:
    answers: dict[int, list[float | None]] = {}

    def train(number: int) -> None:
        answers[number] = [scored["reward"] for scored in client.score([WRONG, "none", WRONG][: number + 1])]

    threads = [threading.Thread(target=train, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {0: [0.0], 1: [0.0, 0.0], 2: [0.0, 0.0, 0.0]}


def test_a_trainer_gets_numbers_or_none_over_http(client: RewardClient) -> None:
    reward = trl_reward(client, most_masked=1.0)
    found = reward(["p"] * 3, [HONEST, [{"role": "assistant", "content": WRONG}], "none"], task=["cube"] * 3)
    assert found[0] is None or found[0] > 0
    assert found[1:] == [0.0, 0.0]


def test_prompts_name_what_is_rewarded_and_nothing_that_is_kept_back(client: RewardClient) -> None:
    rows = client.prompts()
    assert [(row["task"], row["shape"]) for row in rows] == [
        (task, shape) for task, shapes in client.facts()["tasks"].items() for shape in shapes
    ]
    for row in rows:
        system, user = row["prompt"]
        assert (system["role"], user["role"]) == ("system", "user")
        assert "launch(x, y" in user["content"]
        assert row["shape"] in user["content"]
        assert "5003" not in user["content"]
    assert client.prompts() == rows


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Length": "\u00b2"}, 411),
        ({"Content-Length": "-1"}, 411),
        ({"Content-Length": "9" * 5000}, 413),
        ({"Content-Length": "2", "Transfer-Encoding": "chunked"}, 411),
    ],
    ids=["superscript", "negative", "five thousand digits", "chunked"],
)
def test_a_length_that_is_none_is_refused_in_words(ask: Ask, headers: dict[str, str], status: int) -> None:
    assert ask(**headers)[0] == status
    assert ask("GET", "/", b"")[0] == 200
