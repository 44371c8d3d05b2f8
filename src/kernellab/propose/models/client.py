"""What the two SDK clients share: one event loop in a thread, one attempt a call, time-outs and cancelling that
close the connection.

Covered: hanging servers, cut streams, replies that never end, keys echoed back. Not covered: a server that sends
one line of gigabytes within the time-out (the SDK gathers a line before anyone sees it).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Self, TypeVar

from kernellab.propose.models.base import NEVER, Cancel, Finish, ModelFault, Reply, Request, Usage
from kernellab.propose.models.faults import Classifier
from kernellab.propose.models.keys import Key, Scrubber
from kernellab.propose.models.prices import Prices

T = TypeVar("T")
_POLL_S = 0.02


@dataclass(frozen=True)
class Limits:
    """Seconds to connect, to the first token, and for the whole reply; and the longest reply in characters."""

    connect_s: float = 10.0
    first_s: float = 180.0
    total_s: float = 900.0
    reply_chars: int = 2_000_000


class TooLong(Exception):
    """The reply passed the longest that is taken."""


class Refusal(Exception):
    """The model declined to answer."""


@dataclass
class Gathered:
    """What has come of a reply so far. `begun`: headers came; `known`: so did something of the right form;
    `live`: so did a token; `ended`: the server said that it was complete."""

    longest: int
    deadline: asyncio.Timeout
    until: float
    parts: list[str] = field(default_factory=list)
    length: int = 0
    finish: Finish | None = None
    usage: Usage = field(default_factory=Usage)
    begun: bool = False
    live: bool = False
    known: bool = False
    ended: bool = False

    def alive(self) -> None:
        """The first token, be it of a model's thoughts, moves the deadline to that of the whole reply."""
        if not self.live:
            self.live = True
            self.deadline.reschedule(self.until)

    def add(self, text: str) -> None:
        self.alive()
        self.parts.append(text)
        self.length += len(text)
        if self.length > self.longest:
            raise TooLong


class SdkClient(ABC):
    """One attempt a call; asking again is the business of retry.py, which counts it."""

    def __init__(
        self, sdk: ModuleType, name: str, url: str, key: Key, scrub: Scrubber, prices: Prices, limits: Limits
    ) -> None:
        self.name = name
        self.url = url
        self._sdk = sdk
        self._prices = prices
        self._limits = limits
        self._scrub = scrub.plus(key)
        self._faults = Classifier(sdk, name, url, key, self._scrub)
        self._closed = False
        self._loop = _LoopThread(f"klab-model-{name}")
        timeout = sdk.Timeout(limits.total_s, connect=limits.connect_s)
        http = sdk.DefaultAsyncHttpxClient(
            timeout=timeout, follow_redirects=False
        )  # a redirect would take the key along
        self._api = self._open(key, {"max_retries": 0, "timeout": timeout, "http_client": http})

    def complete(self, request: Request, cancel: Cancel = NEVER) -> Reply:
        if self._closed:
            raise ValueError(f"{self!r} is closed")
        outcome = self._loop.run(self._attempt(request), cancel)
        if outcome is None:
            raise ModelFault("cancelled", "stopped before the reply was complete", "resume the run to ask again")
        if isinstance(outcome, ModelFault):  # made in the loop and raised here, so that no SDK error hangs on to it
            raise outcome
        return outcome

    def close(self) -> None:
        self._closed = True
        self._loop.close(self._api.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.url!r})"

    @abstractmethod
    def _open(self, key: Key, options: dict[str, Any]) -> Any:
        """The SDK's own asynchronous client."""

    @abstractmethod
    async def _ask(self, request: Request, gathered: Gathered) -> None:
        """Fills `gathered` from the stream; may raise whatever the SDK raises."""

    async def _attempt(self, request: Request) -> Reply | ModelFault:
        limits, started = self._limits, time.monotonic()
        loop_start = asyncio.get_running_loop().time()
        deadline = asyncio.timeout(min(limits.first_s, limits.total_s))
        gathered = Gathered(limits.reply_chars, deadline, loop_start + limits.total_s)
        try:
            async with deadline:
                await self._ask(request, gathered)
        except TimeoutError:
            return self._late(gathered)
        except TooLong:
            return self._faults.make("too-long", f"the reply passed {limits.reply_chars:,} characters and was cut off",
                                     usage=gathered.usage)  # fmt: skip
        except Refusal as refusal:
            return self._faults.make("refused", f"the model declined: {refusal}", usage=gathered.usage)
        except Exception as error:  # noqa: BLE001  (the boundary: whatever an SDK raises becomes a fault)
            return self._faults(error, gathered.begun, gathered.usage)
        if fault := self._unfinished(gathered):
            return fault
        return Reply(
            text=self._scrub("".join(gathered.parts)), finish=gathered.finish or "other", usage=gathered.usage,
            cost_usd=self._prices.cost(request.model, gathered.usage), seconds=round(time.monotonic() - started, 6),
            request=request.digest,
        )  # fmt: skip

    def _late(self, gathered: Gathered) -> ModelFault:
        limits = self._limits
        said = "the reply was not complete" if gathered.live else "no token came"
        seconds = limits.total_s if gathered.live else min(limits.first_s, limits.total_s)
        return self._faults.make("time-out", f"{said} within {seconds:g} s from {self.url}", usage=gathered.usage)

    def _unfinished(self, gathered: Gathered) -> ModelFault | None:
        if gathered.ended:
            return None
        if not gathered.known:
            return self._faults.make("not-json", f"{self.url} sent no reply that can be read", usage=gathered.usage)
        told = f"the reply of {self.url} ended after {gathered.length:,} characters without saying that it was complete"
        return self._faults.make("cut-stream", told, usage=gathered.usage)


class _LoopThread:
    """An event loop in a thread of its own, so that callers in any thread can wait, and give up waiting."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T], cancel: Cancel) -> T | None:
        """None: cancelled, and the work with it."""
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            while not concurrent.futures.wait([future], timeout=_POLL_S).done:
                if cancel.is_set():
                    return None
            return future.result()
        finally:
            future.cancel()

    def close(self, last: Any) -> None:
        with self._guard:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_wind_up(last), loop).result(5)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(5)
            loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._guard:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name=self._name, daemon=True)
                self._thread.start()
            return self._loop


async def _wind_up(last: Any) -> None:
    """Ends what is still under way, then closes the SDK's client."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await last()


def load_sdk(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ModelFault(
            "no-extra", f"the package '{name}' is not usable here: {error}", "pip install 'kernellab[llm]'"
        ) from None


def count(value: object) -> int | None:
    """A token count as a server gave it, if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def is_json(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "application/json"
