"""The rules of the server, over real HTTP on loopback."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.recorded import CUBE

pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")

from kernellab.core.errors import EnvironmentFault, UsageError  # noqa: E402
from kernellab.view.files import write_files  # noqa: E402
from kernellab.view.server import listen, make_app, open_site  # noqa: E402

TOKEN = "a-token-for-tests-0123456789"


@dataclass
class Served:
    port: int

    def ask(
        self, path: str, method: str = "GET", token: str = TOKEN, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        given = {"Cookie": f"klab-view-{self.port}={token}"} if token else {}
        line.request(method, path, headers={**given, **headers})
        answer = line.getresponse()
        text = answer.read().decode()
        line.close()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, text


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with listen(0) as listening:
        port = listening.getsockname()[1]
        config = uvicorn.Config(make_app(open_site(CUBE), TOKEN, port), log_level="error", lifespan="off")
        server: Any = uvicorn.Server(config)
        worker = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        worker.start()
        yield Served(port)
        server.should_exit = True
        worker.join()


def test_without_the_token_nothing_is_shown(served: Served) -> None:
    for token, status, words in (("", 401, "a token is needed"), ("wrong", 403, "of another klab view")):
        code, headers, text = served.ask("/index.html", token=token)
        assert code == status
        assert words in text
        assert "cube" not in text
        assert "default-src 'none'" in headers["content-security-policy"]
    assert served.ask("/?token=wrong", token="")[0] == 403
    assert served.ask("/live.json", token="")[0] == 401


def test_the_address_with_the_token_leaves_a_cookie_and_no_token(served: Served) -> None:
    code, headers, _ = served.ask(f"/compare.html?run=1&token={TOKEN}", token="")
    assert code == 303
    assert headers["location"] == "/compare.html?run=1"
    cookie = headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    code, headers, _ = served.ask(f"//elsewhere.example/?token={TOKEN}", token="")
    assert not headers.get("location", "/").startswith("//")
    assert served.ask("/", token="", Authorization=f"Bearer {TOKEN}")[0] == 200


def test_another_host_name_is_refused(served: Served) -> None:
    code, _, text = served.ask("/", Host=f"rebound.example:{served.port}")
    assert code == 421
    assert "cube" not in text
    assert served.ask("/", Host=f"localhost:{served.port}")[0] == 200


def test_nothing_but_reading_is_allowed(served: Served) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert served.ask("/", method=method)[0] == 405
    code, _, text = served.ask("/", method="HEAD")
    assert (code, text) == (200, "")


def test_every_answer_carries_the_rules(served: Served) -> None:
    for path in ("/", "/live.json", "/nothing", "/run/0000000000000000/live.json"):
        _, headers, _ = served.ask(path)
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "'unsafe" not in headers["content-security-policy"]


def test_an_address_is_never_a_path(served: Served) -> None:
    for path in ("/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/run/..%2f..%2fetc/passwd", "/ledger.jsonl",
                 "/run/%00/index.html", "/" + "a" * 5000):  # fmt: skip
        code, _, text = served.ask(path)
        assert code == 404
        assert "root:" not in text


def test_a_port_that_is_taken_is_a_fault_in_words(served: Served) -> None:
    with pytest.raises(EnvironmentFault, match=f"port {served.port} cannot be had") as fault:
        listen(served.port)
    assert "--port" in fault.value.fix


def test_files_are_written_where_nothing_is_and_nowhere_else(tmp_path: Path) -> None:
    out = tmp_path / "out"
    count = write_files(CUBE, out)
    written = sorted(p for p in out.rglob("*") if p.is_file())
    assert len(written) == count > 10
    page = (out / "index.html").read_text()
    assert "Content-Security-Policy" in page
    assert "data-live" not in page
    with pytest.raises(UsageError, match="not an empty folder"):
        write_files(CUBE, out)
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    for name in ("ledger.jsonl", "heads.jsonl"):
        (run / name).write_bytes((CUBE / name).read_bytes())
    with pytest.raises(UsageError, match="lies inside the run"):
        write_files(tmp_path / "runs", run / "pages")
    assert not (run / "pages").exists()
