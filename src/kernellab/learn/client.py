"""A client of the reward service, in one file, on the standard library alone: copy it into any trainer.

    client = RewardClient("http://127.0.0.1:8765", token)
    for scored in client.score(replies, task="softmax"):
        scored["reward"]  # a number, or None: leave the sample out

Every sample has an id. A call that is cut off is made again with the same ids: what was rewarded is not tried again.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

_AGAIN = 3
_WAIT_S = 3600.0


class RewardError(Exception):
    """What the service said, and what to do. `status`: of HTTP; 0 where it could not be reached."""

    def __init__(self, status: int, what: str, fix: str = "") -> None:
        super().__init__(f"{what}: {fix}" if fix else what)
        self.status, self.what, self.fix = status, what, fix


class RewardClient:
    def __init__(self, url: str, token: str, timeout_s: float = _WAIT_S) -> None:
        self.url, self._token, self._timeout_s = url.rstrip("/"), token, timeout_s
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback needs no proxy

    def facts(self) -> dict[str, Any]:
        """Tasks with their shapes, the language of replies, the form of rewards."""
        return self._asked("/", None)

    def prompts(self) -> list[dict[str, Any]]:
        """What to ask a policy: objects with task, shape and prompt, which is a list of messages."""
        found: list[dict[str, Any]] = self._asked("/prompts", None)["prompts"]
        return found

    def score(self, replies: Sequence[str], task: str = "", shape: str = "") -> list[dict[str, Any]]:
        """Replies that are all for one task and shape, each under a new id."""
        return self.score_plain([{"id": uuid.uuid4().hex, "reply": r, "task": task, "shape": shape} for r in replies])

    def score_plain(self, samples: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """Samples as objects with id, reply, task and shape; the answers come in the same order."""
        body = json.dumps({"samples": [dict(sample) for sample in samples]}).encode()
        rewards: list[dict[str, Any]] = self._asked("/score", body)["rewards"]
        return rewards

    def _asked(self, path: str, body: bytes | None) -> dict[str, Any]:
        for left in reversed(range(_AGAIN)):
            try:
                return self._once(path, body)
            except (urllib.error.URLError, ConnectionError, TimeoutError) as err:
                if not left:
                    raise RewardError(0, f"{self.url} does not answer: {err}", "is klab reward running?") from None
        raise AssertionError("unreachable")

    def _once(self, path: str, body: bytes | None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, body, headers)
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as err:
            said = err.read()
            try:
                told = json.loads(said)
                raise RewardError(err.code, str(told["error"]), str(told.get("fix", ""))) from None
            except (ValueError, KeyError, TypeError):
                raise RewardError(err.code, f"{self.url} answered {err.code}") from None
