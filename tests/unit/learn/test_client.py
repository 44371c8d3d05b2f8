"""The client stands on the standard library alone, and says who does not answer."""

from __future__ import annotations

import ast
import http.server
import json
import socket
import sys
import threading
from pathlib import Path

import pytest

from kernellab.learn import client as module
from kernellab.learn.client import RewardClient, RewardError


def test_it_is_one_file_on_the_standard_library() -> None:
    tree = ast.parse(Path(module.__file__).read_text())
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_a_service_that_is_not_there_is_told() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(RewardError) as caught:
            RewardClient(f"http://127.0.0.1:{free.getsockname()[1]}", "token").facts()
    assert caught.value.status == 0
    assert "is klab reward running?" in str(caught.value)


class _Flaky(http.server.BaseHTTPRequestHandler):
    """Hangs up on the first request, and is no reward service on a path of its own."""

    bodies: list[bytes] = []  # noqa: RUF012

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        if len(self.bodies) == 1:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._send(200, b'{"rewards": [], "note": ""}')

    def do_GET(self) -> None:
        self._send(502, b"<html>bad gateway</html>")

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_call_that_is_cut_off_is_made_again_with_the_same_ids() -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), _Flaky) as server:
        threading.Thread(target=server.serve_forever).start()
        client = RewardClient(f"http://127.0.0.1:{server.server_port}/", "token")
        assert client.score(["a", "b"]) == []
        first, second = (json.loads(body)["samples"] for body in _Flaky.bodies)
        assert first == second
        assert len({sample["id"] for sample in first}) == 2
        with pytest.raises(RewardError, match="answered 502"):
            client.facts()
        server.shutdown()
