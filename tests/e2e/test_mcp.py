"""klab mcp as a coding agent meets it: the official client, from list_tasks to a verified kernel, over both transports."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kernellab.propose.prompts import estimate_tokens
from kernellab.report.audit import audit

from .command import KLAB, Klab, alive, interrupt, offspring, wait_until
from .conftest import CANDIDATES

pytest.importorskip("mcp")
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

pytestmark = pytest.mark.backend_c
SPEC = {"task": "cube"}
KEY = "sk-a-key-that-must-stay-here"
HELD_OUT = re.compile(r"(?<![\d.])(5003|20012)(?![\d.])")


@dataclass
class Session:
    """A connected client that remembers every text it was sent."""

    client: Client
    seen: list[str] = field(default_factory=list)

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        data, failed = await self.ask(name, **arguments)
        assert not failed, data
        return data

    async def ask(self, name: str, **arguments: Any) -> tuple[dict[str, Any], bool]:
        """The reply, which is short and one JSON object, and whether it is an error."""
        result = await self.client.call_tool(name, arguments)
        parts = [b.model_dump_json(exclude_none=True) for b in result.content]
        assert sum(map(estimate_tokens, parts)) < 2000
        self.seen += parts
        data = json.loads(result.content[0].text)  # type: ignore[union-attr]
        return data, bool(result.is_error)

    async def read(self, uri: str) -> str:
        text = (await self.client.read_resource(uri)).contents[0].text  # type: ignore[union-attr]
        self.seen.append(text)
        return text


async def from_list_to_verified(session: Session, work: Path) -> None:
    """What an agent does with a task that it knows nothing about."""
    listed = await session.call("list_tasks")
    assert "cube" in [t["name"] for t in listed["tasks"]]
    assert "def launch(" in await session.read("klab://task/cube/c")
    failed = await session.call("compile", src=CANDIDATES["broken"], spec=SPEC)
    assert failed["status"] == "build-failed"
    assert "error" in await session.read(f"klab://kernel/{failed['kernel']}/log")
    made = await session.call("compile", src=CANDIDATES["good"], spec=SPEC)
    assert await session.read(f"klab://artifact/{made['artifact']}/source") == CANDIDATES["good"]
    verdict = await session.call("verify", artifact=made["artifact"])
    assert verdict["status"] == "passed"
    report = audit(work / verdict["folder"], verdict["ledger_root"])
    assert report.problems == []
    assert '"verdict"' in await session.read(f"klab://run/{verdict['folder']}/ledger")
    words = await session.call("explain", run=verdict["folder"])
    assert "held-out shapes included" in " ".join(words["words"])
    best = await session.call("best", task="cube")
    assert verdict["folder"] in best["unconfirmed"]  # nothing was timed, so there is nothing to claim


def parameters(klab: Klab, files: Path, work: Path) -> StdioServerParameters:
    arguments = ["mcp", "--task", str(files / "cube.py"), "--workspace", str(work)]
    return StdioServerParameters(command=KLAB, args=arguments, env=klab.with_({"OPENAI_API_KEY": KEY}))


@pytest.mark.heavy
def test_over_stdio_from_the_list_to_a_verified_kernel_and_through_bad_calls(
    klab: Klab, files: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"

    async def main() -> None:
        async with Client(parameters(klab, files, work)) as client:
            session = Session(client)
            tools = (await client.list_tools()).tools
            assert len(tools) == 8
            assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)
            await from_list_to_verified(session, work)
            await bad_calls(session)
            held_out = CANDIDATES["good"].replace("y[i] =", "if (n != 5003) y[i] =")
            made = await session.call("compile", src=held_out, spec=SPEC)
            verdict = await session.call("verify", artifact=made["artifact"])
            assert (verdict["status"], verdict["case"][:8]) == ("rejected", "held-out")
            await session.read(f"klab://run/{verdict['folder']}/trial/0")
            await session.read(f"klab://run/{verdict['folder']}/ledger")
            ours = [text for text in session.seen if "if (n != 5003)" not in text]
            for text in ours:
                assert not HELD_OUT.search(text), text
                assert KEY not in text
                assert str(tmp_path) not in text

    asyncio.run(main())


async def bad_calls(session: Session) -> None:
    """Each is told what is wrong, and the server lives on."""
    for name, arguments, word in (
        ("verify", {"artifact": 7}, "'artifact'"),
        ("verify", {"artefact": "a"}, "did you mean 'artifact'"),
        ("verify", {"artifact": "a0123456789abcdef"}, "no artifact"),
        ("benchmark", {"artifact": "a", "repeats": "many"}, "'repeats'"),
        ("compile", {"src": "x", "spec": {"task": "/etc/passwd.py"}}, "there is no task"),
        ("explain", {"run": "../../somewhere"}, "there is no run"),
        ("format_disk", {}, "no tool"),
    ):
        data, failed = await session.ask(name, **arguments)
        assert failed
        assert word in data["reason"] + data["fix"]
    for uri in ("klab://run/../ledger", "file:///etc/passwd", "klab://kernel/k0123456789abcdef/source"):
        with pytest.raises(MCPError):
            await session.read(uri)
    assert (await session.call("list_tasks"))["tasks"]


@pytest.mark.heavy
def test_a_client_that_leaves_in_the_middle_of_a_call_leaves_nothing_behind(
    klab: Klab, files: Path, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [KLAB, "mcp", "--task", files / "cube.py", "--workspace", tmp_path / "work"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, env=klab.with_({}),
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None

    def send(method: str, number: int | None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params, **({"id": number} if number else {})}
        assert process.stdin is not None
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()

    send("initialize", 1, protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "rude", "version": "1"})
    process.stdout.readline()
    send("notifications/initialized", None)
    send("tools/call", 2, name="compile", arguments={"src": CANDIDATES["good"], "spec": SPEC})
    made = json.loads(json.loads(process.stdout.readline())["result"]["content"][0]["text"])
    send("tools/call", 3, name="verify", arguments={"artifact": made["artifact"]})
    wait_until(lambda: len(offspring(process.pid)) > 1)
    left = offspring(process.pid)
    process.stdin.close()
    assert process.wait() == 0
    assert not alive(left)


@dataclass(frozen=True)
class Served:
    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def status(self, **headers: str) -> int:
        """What a bare request with these headers is answered."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        sent = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
        connection.request("POST", "/mcp", body, {k.replace("_", "-"): v for k, v in sent.items()})
        return connection.getresponse().status


@pytest.fixture(scope="module")
def served(klab: Klab, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    work = tmp_path_factory.mktemp("http") / "work"
    process = klab.start("mcp", "--http", "0", "--task", files / "cube.py", "--workspace", work)
    try:
        assert process.stderr is not None
        address, token = process.stderr.readline(), process.stderr.readline()
        port = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", address)
        assert port, address
        yield Served(int(port[1]), token.removeprefix("token: ").strip()), work
    finally:
        interrupt(process)
        process.communicate()


@asynccontextmanager
async def connected(served: Served, token: str) -> AsyncIterator[Session]:
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(120)) as web:
        async with Client(streamable_http_client(served.url, http_client=web)) as client:
            yield Session(client)


@pytest.mark.heavy
def test_over_http_from_the_list_to_a_verified_kernel(served: tuple[Served, Path]) -> None:
    server, work = served

    async def main() -> None:
        async with connected(server, server.token) as session:
            await from_list_to_verified(session, work)

    asyncio.run(main())


@pytest.mark.slow
def test_the_server_answers_while_a_laboratory_is_open_and_opens_one_at_a_time(served: tuple[Served, Path]) -> None:
    server, _ = served
    done: list[str] = []

    async def noted(name: str, work: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        found = await work()
        done.append(name)
        return found

    async def main() -> None:
        async with connected(server, server.token) as session:
            made = await session.call("compile", src=CANDIDATES["good"], spec=SPEC)
            verify = asyncio.create_task(
                noted("verify", lambda: session.call("verify", artifact=made["artifact"], timeout_s=0.3))
            )
            other = asyncio.create_task(
                noted("other", lambda: session.call("verify", artifact=made["artifact"], timeout_s=0.3))
            )
            await noted("list", lambda: session.call("list_tasks"))
            ends = await asyncio.gather(verify, other)
            assert [e["status"] for e in ends] == ["out-of-time"] * 2

    asyncio.run(main())
    assert done[0] == "list"


def test_a_stranger_gets_401_and_a_rebound_or_foreign_page_is_refused(served: tuple[Served, Path]) -> None:
    server, _ = served
    good = f"Bearer {server.token}"
    assert server.status() == 401
    assert server.status(authorization="Bearer wrong") == 401
    assert server.status(authorization=good, host=f"evil.example:{server.port}") == 421
    assert server.status(authorization=good, origin="http://evil.example") == 403
    assert server.status(authorization=good) < 401

    async def main() -> None:
        async with connected(server, "wrong"):
            pass

    with pytest.raises(BaseExceptionGroup) as caught:
        asyncio.run(main())
    assert caught.value.subgroup(MCPError) is not None


@pytest.mark.parametrize(
    ("arguments", "environment", "word"),
    [
        (["--http", "0.0.0.0:8765"], {}, "not loopback"),
        (["--http", "0"], {"KLAB_MCP_TOKEN": "short"}, "no token"),
        (["--task", "none.py"], {}, "no file none.py"),
    ],
)
def test_does_not_start_where_it_should_not(
    klab: Klab, tmp_path: Path, arguments: list[str], environment: Any, word: str
) -> None:
    klab("mcp", *arguments, cwd=tmp_path, env=environment).failed(2, word)
