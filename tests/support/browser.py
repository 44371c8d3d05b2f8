"""A real Chromium, driven over its own pipe (the DevTools protocol): opened, clicked, resized, looked at. No network.

What a page is given (keys, clicks, text) waits until the page is loaded: before its script has run nobody listens, and the
key would be lost without a word. A question that a navigation cut off is asked again. A browser that does not come up is
ended and started again; one that falls silent later is a failure that says what was asked.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome")
SILENCE_S = 120.0
"""A browser answers within milliseconds, on a machine ten times overloaded within seconds."""
STARTS = 3
_OTHER_PAGE = ("navigated or closed", "context was destroyed", "default execution context")


def find_browser() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class BrowserFault(AssertionError):
    """The browser answered with an error, not at all, or is gone."""


class Browser:
    """One window. `said`: dialogs, errors of scripts and what the page's policy refused, as they came."""

    def __init__(self, program: str, home: Path, silence_s: float = SILENCE_S) -> None:
        self._silence_s = silence_s
        self.said: list[str] = []
        for number in range(STARTS):
            self._start(program, home / f"profile-{number}")
            try:
                self._attach()
                return
            except BrowserFault:
                self._end(0)
                if number == STARTS - 1:
                    raise

    def _start(self, program: str, profile: Path) -> None:
        to_read, self._to_browser = os.pipe()
        self._from_browser, to_write = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (to_read, to_write)]

        def place() -> None:
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        command = [program, "--headless", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage", "--remote-debugging-pipe",
                   f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                   "--allow-pre-commit-input", "--disable-background-networking",
                   *(["--no-sandbox"] if os.geteuid() == 0 else []), "about:blank"]  # fmt: skip
        self._process = subprocess.Popen(command, preexec_fn=place, close_fds=False, stderr=subprocess.DEVNULL)
        for fd in (to_read, to_write, *high):
            os.close(fd)
        self._numbers = itertools.count(1)
        self._buffer, self._session = b"", ""

    def _attach(self) -> None:
        """The page that it opens with may come a moment after the first answer."""
        end = time.monotonic() + self._silence_s
        while not (pages := [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"]):
            if time.monotonic() > end:
                raise BrowserFault("the browser has no page")
            time.sleep(0.02)
        self._session = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """It ends itself, so that its own processes let go of the profile first."""
        with contextlib.suppress(OSError):
            self._write({"id": 0, "method": "Browser.close"})
        self._end(30)

    def _end(self, patience_s: float) -> None:
        os.close(self._to_browser)
        os.close(self._from_browser)
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _write(self, message: dict[str, Any]) -> None:
        os.write(self._to_browser, json.dumps(message).encode() + b"\0")

    def call(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        asked = f"{method} {json.dumps(parameters)[:200]}"
        with contextlib.suppress(BrokenPipeError):  # it is gone: reading says so
            self._write(message)
        while True:
            told = self._next(asked)
            if told.get("id") == number:
                if "error" in told:
                    raise BrowserFault(f"{asked}: {told['error'].get('message')}")
                return told["result"]

    def _next(self, asked: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from_browser], [], [], self._silence_s)
            if not ready:
                raise BrowserFault(f"the browser has said nothing for {self._silence_s:.3g} s, asked for {asked}")
            came = os.read(self._from_browser, 1 << 20)
            if not came:
                raise BrowserFault(f"the browser is gone, asked for {asked}")
            self._buffer += came
        whole, _, self._buffer = self._buffer.partition(b"\0")
        told: dict[str, Any] = json.loads(whole)
        self._note(told)
        return told

    def _note(self, told: dict[str, Any]) -> None:
        match told.get("method"):
            case "Page.javascriptDialogOpening":
                self.said.append(f"dialog: {told['params']['message']}")
                answer = {"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": False},
                          "sessionId": self._session}  # fmt: skip
                self._write(answer)
            case "Runtime.exceptionThrown":
                self.said.append(f"exception: {told['params']['exceptionDetails']['text']}")
            case "Log.entryAdded":
                self.said.append(f"{told['params']['entry']['source']}: {told['params']['entry']['text']}")

    def run(self, script: str) -> Any:
        """The value of an expression in the page; in the next one, where the page was left before it could answer."""
        while True:
            try:
                told = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
            except BrowserFault as fault:
                if not any(words in str(fault) for words in _OTHER_PAGE):
                    raise
                continue
            assert "exceptionDetails" not in told, told
            return told["result"].get("value")

    def open(self, address: str) -> None:
        """Returns when the page and what it needs are loaded."""
        told = self.call("Page.navigate", url=address)
        assert "errorText" not in told, (address, told)
        self._loaded()

    def _loaded(self) -> None:
        self.until(lambda: self.run("location.href !== 'about:blank' && document.readyState") == "complete")

    def click(self, what: str) -> None:
        """With the mouse, where the element is on the screen."""
        self._loaded()
        self.run(f"document.querySelector({json.dumps(what)}).scrollIntoView({{block: 'center'}})")
        x, y = self.run(f"(() => {{ const r = document.querySelector({json.dumps(what)}).getBoundingClientRect();"
                        " return [r.x + r.width / 2, r.y + r.height / 2]; })()")  # fmt: skip
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        self._loaded()
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Escape": 27, "Tab": 9}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)

    def type(self, text: str) -> None:
        self._loaded()
        self.call("Input.insertText", text=text)

    def resize(self, width: int, height: int = 900, dark: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path, whole: bool = False) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def until(self, condition: Callable[[], bool], seconds: float = 300) -> None:
        """Looks often; the limit is far beyond what a busy machine needs."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                where = self.run(
                    "`${location.href}, ${document.readyState}, focus on ${document.activeElement?.tagName}`"
                )
                raise BrowserFault(f"this did not come about in {seconds:.3g} s at {where}: {self.said}")
            time.sleep(0.02)
