"""A real Chromium, driven over its own pipe (the DevTools protocol): opened, clicked, resized, looked at. No network."""

from __future__ import annotations

import base64
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


def find_browser() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One window. `said`: dialogs, errors of scripts and what the page's policy refused, as they came."""

    def __init__(self, program: str, home: Path) -> None:
        to_read, self._to_browser = os.pipe()
        self._from_browser, to_write = os.pipe()

        def place() -> None:
            high = os.dup(to_read), os.dup(to_write)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        command = [program, "--headless", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage", "--remote-debugging-pipe",
                   f"--user-data-dir={home / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                   "--disable-background-networking", *(["--no-sandbox"] if os.geteuid() == 0 else []), "about:blank"]  # fmt: skip
        self._process = subprocess.Popen(command, preexec_fn=place, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._session = ""
        self.said: list[str] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """It ends itself, so that its own processes let go of the profile first."""
        os.write(self._to_browser, json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
        os.close(self._to_browser)
        os.close(self._from_browser)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def call(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to_browser, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == number:
                assert "error" not in told, told
                return told["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from_browser], [], [], 600)
            assert ready, "the browser does not answer"
            came = os.read(self._from_browser, 1 << 20)
            assert came, "the browser is gone"
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
                os.write(self._to_browser, json.dumps(answer).encode() + b"\0")
            case "Runtime.exceptionThrown":
                self.said.append(f"exception: {told['params']['exceptionDetails']['text']}")
            case "Log.entryAdded":
                self.said.append(f"{told['params']['entry']['source']}: {told['params']['entry']['text']}")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        told = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def open(self, address: str) -> None:
        """Returns when the page and what it needs are loaded."""
        self.call("Page.navigate", url=address)
        self.until(lambda: self.run("document.readyState") == "complete" and self.run("location.href") != "about:blank")

    def click(self, what: str) -> None:
        """With the mouse, where the element is on the screen."""
        self.run(f"document.querySelector({json.dumps(what)}).scrollIntoView({{block: 'center'}})")
        x, y = self.run(f"(() => {{ const r = document.querySelector({json.dumps(what)}).getBoundingClientRect();"
                        " return [r.x + r.width / 2, r.y + r.height / 2]; })()")  # fmt: skip
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Escape": 27, "Tab": 9}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def resize(self, width: int, height: int = 900, dark: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path, whole: bool = False) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def until(self, condition: Callable[[], bool], seconds: float = 600) -> None:
        """Looks often; the limit is far beyond what a busy machine needs."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"this did not come about in time: {self.said}"
            time.sleep(0.02)
