"""The driver of the browser: keys wait for the page's script, silence ends in words, a failed start is followed by another."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.support.browser import STARTS, Browser, BrowserFault, find_browser

BEGIN = b"<!doctype html><title>late</title><h1>here</h1><input>"
END = b"<script>document.addEventListener('keydown', e => { document.title = e.key })</script>"


@pytest.fixture
def program() -> str:
    found = find_browser()
    if found is None:
        pytest.skip("no browser: chromium is not installed and apt-get cannot install it here")
    return found


@pytest.fixture
def release() -> threading.Event:
    return threading.Event()


@pytest.fixture
def address(release: threading.Event) -> Iterator[str]:
    """A page with a link to one whose script is sent only when it is released."""

    class Late(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            if self.path != "/late":
                self.wfile.write(b"<!doctype html><a href='/late'>on</a>")
                return
            self.wfile.write(BEGIN)
            self.wfile.flush()
            release.wait()
            self.wfile.write(END)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Late)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    release.set()
    server.shutdown()
    serving.join()
    server.server_close()


@pytest.mark.heavy
def test_a_key_waits_for_the_script_that_listens(
    program: str, tmp_path: Path, address: str, release: threading.Event
) -> None:
    with Browser(program, tmp_path) as browser:
        browser.open(address)
        browser.click("a")
        browser.until(lambda: browser.run("document.querySelector('h1')?.textContent") == "here")
        assert browser.run("document.readyState") == "loading"
        threading.Timer(0.5, release.set).start()
        browser.press("x")
        assert browser.run("document.title") == "x"


def test_a_start_that_fails_is_followed_by_another(program: str, tmp_path: Path) -> None:
    first_fails = tmp_path / "browser"
    first_fails.write_text(f'#!/bin/sh\n[ -e "$0.tried" ] || {{ touch "$0.tried"; exit 1; }}\nexec {program} "$@"\n')
    first_fails.chmod(0o755)
    with Browser(str(first_fails), tmp_path / "home") as browser:
        assert browser.run("1 + 1") == 2


def test_silence_ends_in_words(tmp_path: Path) -> None:
    silent = tmp_path / "silent"
    silent.write_text('#!/bin/sh\necho started >> "$0.starts"\nexec sleep 1000\n')
    silent.chmod(0o755)
    with pytest.raises(BrowserFault, match=r"said nothing for 0\.5 s, asked for Target\.getTargets"):
        Browser(str(silent), tmp_path / "home", silence_s=0.5)
    assert len(Path(f"{silent}.starts").read_text().splitlines()) <= STARTS


def test_a_browser_that_goes_says_so(program: str, tmp_path: Path) -> None:
    with Browser(program, tmp_path) as browser, pytest.raises(BrowserFault, match="the browser is gone"):
        browser.call("Browser.crash")
