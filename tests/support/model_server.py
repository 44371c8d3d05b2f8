"""A scripted model server on loopback: OpenAI's and Anthropic's streaming APIs over real sockets, with every way to
go wrong. Each call takes the next step of the script; the last one stays. It stops by itself after `lifetime_s`."""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

JSON = "application/json"
SSE = "text/event-stream"


@dataclass(frozen=True)
class Say:
    """A good reply. `drip_s` between pieces; `usage` None: none is reported; `plain`: in one JSON instead of a stream."""

    text: str = "hello"
    usage: tuple[int, int] | None = (11, 7)
    cached: int = 0
    finish: str = "stop"
    pieces: int = 3
    drip_s: float = 0.0
    plain: bool = False
    thoughts: int = 0


@dataclass(frozen=True)
class Error:
    """An HTTP error with the body of an API's, or with any other."""

    status: int
    message: str = "something is off"
    type: str = "error"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    html: bool = False


@dataclass(frozen=True)
class Hang:
    """Says nothing more: before the headers (`text` None), or after them and this text."""

    text: str | None = None


@dataclass(frozen=True)
class Cut:
    """Closes the connection in mid-stream after this text: orderly, or by a reset."""

    text: str = "half an ans"
    reset: bool = False


@dataclass(frozen=True)
class Raw:
    """These bytes as the body of a 200."""

    body: bytes
    type: str = JSON


@dataclass(frozen=True)
class EchoKey:
    """Sends the caller's key back: as a reply in small pieces, or in the message of an error."""

    status: int = 200


@dataclass(frozen=True)
class StreamError:
    """An error as an event within a good stream."""

    text: str = "half"
    type: str = "overloaded_error"


Step = Say | Error | Hang | Cut | Raw | EchoKey | StreamError
Script = Sequence[Step] | Callable[[dict[str, Any]], Step]
HELLO: Script = (Say(),)
HTML = Raw(b"<html><body>Welcome to the proxy. Please log in.</body></html>", "text/html")


@dataclass
class Seen:
    """A call as it came in. `gone` is set when the client left before the end of the reply."""

    path: str
    body: dict[str, Any]
    key: str
    time: float
    gone: threading.Event = field(default_factory=threading.Event)


class ModelServer:
    """`with ModelServer([Say("hi")]) as server: ... server.url, server.calls`. A function may stand for the script."""

    def __init__(self, script: Script = HELLO, lifetime_s: float = 1800.0) -> None:
        self.script = script
        self.seen: list[Seen] = []
        self.asked = threading.Event()
        self.closing = threading.Event()
        self._guard = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._end = threading.Timer(lifetime_s, self.stop)
        self._end.daemon = True

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    @property
    def calls(self) -> int:
        with self._guard:
            return len(self.seen)

    def take(self, seen: Seen) -> Step:
        with self._guard:
            self.seen.append(seen)
            self.asked.set()
            if callable(self.script):
                return self.script(seen.body)
            return self.script[min(len(self.seen), len(self.script)) - 1]

    def stop(self) -> None:
        if not self.closing.is_set():
            self.closing.set()
            self._http.shutdown()
            self._http.server_close()
            self._end.cancel()

    def __enter__(self) -> Self:
        self._thread.start()
        self._end.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join(5)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    owner: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that leave are part of the script."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        key = self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")
        self._seen = Seen(self.path, body, key, time.monotonic())
        self._anthropic = self.path.endswith("/messages")
        step = self.server.owner.take(self._seen)
        try:
            self._play(step)
        except OSError:
            self._seen.gone.set()
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""

    def _play(self, step: Step) -> None:
        match step:
            case EchoKey(status=200):
                self._say(Say(f"your key is {self._seen.key}, is it not?", pieces=40))
            case EchoKey():
                self._fail(Error(step.status, f"Incorrect API key provided: {self._seen.key}."))
            case Say():
                self._whole(step) if step.plain else self._say(step)
            case Error():
                self._fail(step)
            case Raw():
                self._send(200, step.body, step.type)
            case Hang():
                if step.text is not None:
                    self._begin()
                    self._piece(step.text)
                self._wait_for_the_client_to_leave()
            case Cut():
                self._begin()
                self._piece(step.text)
                self._hang_up(step.reset)
            case StreamError():
                self._begin()
                self._piece(step.text)
                self._event("error", {"type": "error", "error": {"type": step.type, "message": "too many of us"}})
                self._end()

    def _say(self, step: Say) -> None:
        self._begin(step)
        for _ in range(step.thoughts):
            self._thought()
            time.sleep(step.drip_s)
        size = max(1, -(-len(step.text) // step.pieces))
        for start in range(0, len(step.text), size):
            self._piece(step.text[start : start + size])
            if step.drip_s and self._client_left(step.drip_s):
                raise ConnectionResetError
        if self._anthropic:
            usage = {"output_tokens": step.usage[1]} if step.usage else {}
            delta = {"stop_reason": {"stop": "end_turn", "length": "max_tokens"}.get(step.finish, step.finish)}
            self._event("message_delta", {"type": "message_delta", "delta": delta, "usage": usage})
            self._event("message_stop", {"type": "message_stop"})
        else:
            self._event(None, {"choices": [{"index": 0, "delta": {}, "finish_reason": step.finish}]})
            if step.usage and (self._seen.body.get("stream_options") or {}).get("include_usage"):
                self._event(None, {"choices": [], "usage": self._usage(step)})
            self._chunk(b"data: [DONE]\n\n")
        self._end()

    def _whole(self, step: Say) -> None:
        if self._anthropic:
            told = {"input_tokens": step.usage[0], "output_tokens": step.usage[1]} if step.usage else None
            data: dict[str, Any] = {"type": "message", "content": [{"type": "text", "text": step.text}],
                                    "stop_reason": "end_turn", "usage": told}  # fmt: skip
        else:
            choice = {"index": 0, "message": {"role": "assistant", "content": step.text}, "finish_reason": step.finish}
            data = {"object": "chat.completion", "choices": [choice], "usage": self._usage(step)}
        self._send(200, json.dumps(data).encode(), JSON)

    def _usage(self, step: Say) -> dict[str, Any] | None:
        if step.usage is None:
            return None
        into, out = step.usage
        return {"prompt_tokens": into, "completion_tokens": out, "total_tokens": into + out,
                "prompt_tokens_details": {"cached_tokens": step.cached}}  # fmt: skip

    def _fail(self, step: Error) -> None:
        if step.html:
            self._send(step.status, b"<html><h1>Bad gateway</h1></html>", "text/html", step.headers)
            return
        error = {"message": step.message, "type": step.type, "code": step.code}
        self._send(step.status, json.dumps({"type": "error", "error": error}).encode(), JSON, step.headers)

    def _send(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _begin(self, step: Say | None = None) -> None:
        self.send_response(200)
        self.send_header("content-type", SSE)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if self._anthropic:
            into, cached = (step.usage, step.cached) if step else ((11, 7), 0)
            told = {"input_tokens": into[0] - cached, "cache_read_input_tokens": cached} if into else None
            message = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": told}
            self._event("message_start", {"type": "message_start", "message": message})

    def _piece(self, text: str) -> None:
        if self._anthropic:
            delta = {"type": "text_delta", "text": text}
            self._event("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta})
        else:
            self._event(None, {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})

    def _thought(self) -> None:
        if self._anthropic:
            delta = {"type": "thinking_delta", "thinking": "hm"}
            self._event("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta})
        else:
            choice = {"index": 0, "delta": {"content": None, "reasoning_content": "hm"}, "finish_reason": None}
            self._event(None, {"choices": [choice]})

    def _event(self, name: str | None, data: dict[str, Any]) -> None:
        head = f"event: {name}\n" if name else ""
        self._chunk(f"{head}data: {json.dumps(data)}\n\n".encode())

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def _hang_up(self, reset: bool) -> None:
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self.close_connection = True
        self.connection.close() if reset else self.connection.shutdown(socket.SHUT_RDWR)

    def _wait_for_the_client_to_leave(self) -> None:
        while not self.server.owner.closing.is_set():
            if self._client_left(0.02):
                self._seen.gone.set()
                break
        self.close_connection = True

    def _client_left(self, seconds: float) -> bool:
        readable, _, _ = select.select([self.connection], [], [], seconds)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""
