"""The reward service over HTTP, for this machine alone: a bearer token, JSON in, JSON out.

Covered: a request without the token (401, before anything is read), another Host (a rebound DNS name), a browser's page, a
body that is too large, cut off, not UTF-8 or not JSON, and a batch that is off: each is answered in words, and the service
goes on. Not covered: other users of this machine who can read this process's environment.
"""

from __future__ import annotations

import hmac
import json
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kernellab.core.errors import KlabError, UsageError
from kernellab.core.loopback import loopback_names
from kernellab.learn.service import RewardService

MOST_BODY = 64 << 20
_DIGITS = 20  # of a length that is worth reading
_PATIENCE_S = 60.0  # for a client that does not send what it announced
_NO_REWARD = "every sample of this batch was rewarded 0: a group like that has no advantage, and teaches nothing"


class _Refused(Exception):
    """A request that is answered with a status and words."""

    def __init__(self, status: int, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.status, self.what, self.fix = status, what, fix


class RewardServer(ThreadingHTTPServer):
    """On a socket that listens already. `shutdown()` from another thread ends serve_forever().

    Batches are scored in one thread of its own: what a laboratory starts may end with the thread that started it."""

    daemon_threads = True

    def __init__(self, service: RewardService, listening: socket.socket, token: str) -> None:
        address = listening.getsockname()
        super().__init__(address[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.service, self.token = service, token
        self.work = ThreadPoolExecutor(1, "score")
        self.hosts = {*loopback_names(address[1]), f"{address[0]}:{address[1]}"}

    def server_close(self) -> None:
        """When the batch that is being scored is done."""
        super().server_close()
        self.work.shutdown(cancel_futures=True)


class _Handler(BaseHTTPRequestHandler):
    server: RewardServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "klab-reward", ""
    timeout = _PATIENCE_S

    def do_GET(self) -> None:
        service = self.server.service
        self._answered({"/": service.facts, "/prompts": lambda: {"prompts": service.prompts()}})

    def do_POST(self) -> None:
        self._answered({"/score": self._score})

    def _answered(self, answers: Mapping[str, Callable[[], dict[str, Any]]]) -> None:
        """The boundary: whatever is wrong with a request is its answer, and nobody else's trouble."""
        try:
            self._admit()
            if self.path not in answers:
                raise _Refused(
                    404, f"there is no {self.command} {self.path[:80]}", "GET /, GET /prompts and POST /score"
                )
            status, body = 200, answers[self.path]()
        except _Refused as refused:
            self.close_connection = True
            status, body = refused.status, {"error": refused.what, "fix": refused.fix}
        except UsageError as fault:
            status, body = 400, {"error": fault.what, "fix": fault.fix}
        except KlabError as fault:
            status, body = 503, {"error": fault.what, "fix": fault.fix}
        except Exception as err:  # noqa: BLE001  the boundary: a mistake of ours must not end a training run
            traceback.print_exception(err, file=sys.stderr)
            self.close_connection = True
            status, body = 500, {"error": f"the service failed: {type(err).__name__}", "fix": "send the batch again"}
        self._send(status, body)

    def _admit(self) -> None:
        given = self.headers.get_all("Authorization") or []
        wanted = f"Bearer {self.server.token}".encode()
        if len(given) != 1 or not hmac.compare_digest(given[0].encode("latin-1", "replace"), wanted):
            raise _Refused(401, "a bearer token is needed", "the one that klab reward printed, or KLAB_REWARD_TOKEN")
        if self.headers.get("Host") not in self.server.hosts or self.headers.get("Origin") is not None:
            raise _Refused(403, "only programs of this machine are answered", "connect to 127.0.0.1")

    def _score(self) -> dict[str, Any]:
        asked = _object(self._body())
        if unknown := [name for name in asked if name != "samples"]:
            raise _Refused(400, f"'{unknown[0][:40]}' is not known", 'send {"samples": [...]}')
        rewards = self.server.work.submit(self.server.service.score_plain, asked.get("samples")).result()
        none = bool(rewards) and all(scored["reward"] == 0.0 for scored in rewards)
        return {"rewards": rewards, "note": _NO_REWARD if none else ""}

    def _body(self) -> bytes:
        given = self.headers.get_all("Content-Length") or [""]
        length = given[0].lstrip("0") or "0"
        plain = given[0].isascii() and given[0].isdigit() and len(set(given)) == 1
        if not plain or "Transfer-Encoding" in self.headers:
            raise _Refused(411, "the request does not say how long its body is", "send Content-Length")
        if len(length) > _DIGITS or int(length) > MOST_BODY:
            text = f"a body of {length[:_DIGITS]} bytes is too large: {MOST_BODY} are taken"
            raise _Refused(413, text, "send several batches")
        try:
            data = self.rfile.read(int(length))
        except TimeoutError:
            data = b""
        if len(data) != int(length):
            raise _Refused(400, f"the body was cut off: {len(data)} of {length} bytes came", "send it again")
        return data

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if status == 401:
                self.send_header("WWW-Authenticate", "Bearer")
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True  # whoever asked is gone; the rewards are on record under their ids

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: replies and tokens do not belong into a terminal."""


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data.decode("utf-8"))
    except UnicodeDecodeError as err:
        raise _Refused(400, f"the body is not UTF-8: byte {err.start} is off", "encode the JSON as UTF-8") from None
    except (ValueError, RecursionError) as err:
        raise _Refused(400, f"the body is not JSON: {str(err)[:200]}", 'send {"samples": [...]}') from None
    if not isinstance(found, dict):
        raise _Refused(400, "the body is no JSON object", 'send {"samples": [...]}')
    return found


def serve(service: RewardService, listening: socket.socket, token: str) -> None:
    """Until it is interrupted."""
    with RewardServer(service, listening, token) as server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.stderr.write("klab: the service has ended; every reward is on record\n")
