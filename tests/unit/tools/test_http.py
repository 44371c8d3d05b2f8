"""The door to HTTP: loopback only, and nothing without the token."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from kernellab.core.errors import EnvironmentFault, UsageError
from kernellab.core.loopback import TOKEN_VARIABLE, bind, read_address, read_token
from kernellab.tools.http import guarded

TOKEN = "a-token-of-some-length"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8765", ("127.0.0.1", 8765)),
        ("localhost:0", ("127.0.0.1", 0)),
        ("127.0.0.2:80", ("127.0.0.2", 80)),
        ("[::1]:80", ("::1", 80)),
    ],
)
def test_reads_an_address_on_loopback(text: str, address: tuple[str, int]) -> None:
    assert read_address(text) == address


@pytest.mark.parametrize(
    "text",
    ["0.0.0.0:80", "192.168.1.2:80", "example.org:80", "[::]:80", "", "http", "70000", "-1", "127.0.0.1.evil.org:80"],
)
def test_refuses_what_other_machines_could_reach_and_what_is_no_port(text: str) -> None:
    with pytest.raises(UsageError):
        read_address(text)


def test_a_token_is_made_afresh_or_taken_from_the_environment() -> None:
    one, fresh = read_token({})
    assert fresh
    assert len(one) >= 40
    assert one != read_token({})[0]
    assert read_token({TOKEN_VARIABLE: TOKEN}) == (TOKEN, False)
    for bad in ("short", "with spaces in it, alas", "ümlaut-ümlaut-ümlaut"):
        with pytest.raises(UsageError):
            read_token({TOKEN_VARIABLE: bad})


def test_a_port_that_is_taken_is_told() -> None:
    with bind("127.0.0.1", 0) as taken:
        with pytest.raises(EnvironmentFault, match="cannot be had"):
            bind("127.0.0.1", taken.getsockname()[1])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([(b"authorization", b"Bearer " + TOKEN.encode())], 200),
        ([(b"Authorization", b"bearer " + TOKEN.encode())], 200),
        ([], 401),
        ([(b"authorization", b"Bearer ")], 401),
        ([(b"authorization", b"Bearer " + TOKEN.upper().encode())], 401),
        ([(b"authorization", TOKEN.encode())], 401),
        ([(b"authorization", b"Basic " + TOKEN.encode())], 401),
        ([(b"authorization", b"Bearer " + TOKEN.encode()), (b"authorization", b"Bearer x")], 401),
        ([(b"cookie", b"Bearer " + TOKEN.encode())], 401),
    ],
)
def test_only_the_token_opens(headers: list[tuple[bytes, bytes]], status: int) -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        raise AssertionError("nothing is read of a stranger")

    asyncio.run(guarded(app, TOKEN)({"type": "http", "headers": headers}, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == status
