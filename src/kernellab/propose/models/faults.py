"""The one place where an SDK's or a server's error becomes a fault that says what to do."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from types import ModuleType
from typing import Any

from kernellab.propose.models.base import FaultKind, ModelFault, Usage
from kernellab.propose.models.keys import Key, Scrubber

_LONGEST = 300
_KIND_OF_TYPE: dict[str, FaultKind] = {
    "authentication_error": "wrong-key", "permission_error": "wrong-key", "invalid_api_key": "wrong-key",
    "not_found_error": "unknown-model", "model_not_found": "unknown-model",
    "rate_limit_error": "rate-limit", "rate_limit_exceeded": "rate-limit", "insufficient_quota": "rate-limit",
    "invalid_request_error": "refused", "request_too_large": "refused", "content_filter": "refused",
}  # fmt: skip
_KIND_OF_STATUS: dict[int, FaultKind] = {
    400: "refused", 401: "wrong-key", 402: "rate-limit", 403: "wrong-key", 408: "time-out", 413: "refused",
    422: "refused", 429: "rate-limit",
}  # fmt: skip
_RETRYABLE: frozenset[FaultKind] = frozenset({"rate-limit", "server-error", "unreachable", "time-out", "cut-stream",
                                              "not-json"})  # fmt: skip


class Classifier:
    """Knows where was asked and with which key, so that each remedy can name it."""

    def __init__(self, sdk: ModuleType, model: str, url: str, key: Key, scrub: Scrubber) -> None:
        self._sdk = sdk
        self._model = model
        self._url = url
        self._key = key
        self._scrub = scrub

    def __call__(self, error: Exception, begun: bool, usage: Usage) -> ModelFault:
        """`begun`: headers of a reply had come, so what broke off then is a cut stream."""
        if isinstance(error, self._sdk.APIStatusError):
            return self._of_status(error, usage)
        if isinstance(error, json.JSONDecodeError | self._sdk.APIResponseValidationError):
            return self.make("not-json", f"{self._url} sent what is not the JSON of a reply: {error}", usage=usage)
        if isinstance(error, self._sdk.APITimeoutError):
            return self.make("time-out", f"{self._url} did not take the connection in time", usage=usage)
        if isinstance(error, self._sdk.APIConnectionError) or type(error).__module__.startswith("http"):
            cause = error.__cause__ or error
            if begun:
                return self.make("cut-stream", f"the reply of {self._url} broke off: {cause}", usage=usage)
            return self.make("unreachable", f"{self._url} cannot be reached: {cause}", usage=usage)
        if isinstance(error, self._sdk.APIError):
            kind = _kind_of_body(getattr(error, "body", None)) or "server-error"
            return self.make(kind, f"{self._url} reported an error in its reply: {error}", usage=usage)
        if begun and isinstance(error, ValueError | TypeError | AttributeError | LookupError):
            return self.make("not-json", f"{self._url} sent what no reply looks like: {error!r}", usage=usage)
        name = self._sdk.__name__
        return self.make("refused", f"the package '{name}' did not take the request: {error!r}", usage=usage)

    def make(
        self, kind: FaultKind, reason: str, *, retryable: bool | None = None,
        retry_after_s: float | None = None, usage: Usage | None = None,
    ) -> ModelFault:  # fmt: skip
        """One line, short, without keys."""
        line = " ".join(self._scrub(reason).split())
        line = line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
        again = kind in _RETRYABLE if retryable is None else retryable
        return ModelFault(kind, line, self._fix(kind), retryable=again, retry_after_s=retry_after_s, usage=usage)

    def _of_status(self, error: Any, usage: Usage) -> ModelFault:
        status, body = int(error.status_code), error.body
        text = f"{self._url} answered {status}: {_message(body) or error}"
        kind = _KIND_OF_STATUS.get(status, "server-error")
        retryable: bool | None = None
        if 300 <= status < 400:
            return self.make("server-error", f"{self._url} answered {status}: it has moved elsewhere", retryable=False,
                             usage=usage)  # fmt: skip
        if status == 404:
            about_model = isinstance(body, Mapping) and "model" in text.removeprefix(self._url).lower()
            kind, retryable = ("unknown-model" if about_model else "server-error"), False
        elif status < 400 or status in (400, 403):
            kind = _kind_of_body(body) or kind
        elif status < 500 and status not in (408, 409, 425, 429):
            retryable = False
        if status == 402 or _code(body) in ("insufficient_quota", "billing_error"):
            retryable = False
        if kind == "server-error" and 400 <= status < 500 and status not in (404, 409, 425):
            kind = "refused"
        return self.make(kind, text, retryable=retryable, retry_after_s=retry_after(error.response.headers),
                         usage=usage)  # fmt: skip

    def _fix(self, kind: FaultKind) -> str:
        fixes: dict[FaultKind, str] = {
            "wrong-key": f"set {self._key.variable} to a key that {self._url} accepts",
            "unknown-model": f"ask for a model that {self._url} has; '{self._model}' is not one (list: {self._url}/models)",
            "rate-limit": "wait, ask for fewer proposals at once, or raise the limit with the provider",
            "server-error": f"see whether {self._url} is the API's address (most end in /v1), and try later",
            "unreachable": f"start the server, or correct the address {self._url}",
            "time-out": "try later, or allow more time",
            "cut-stream": "try later; if it happens again, look at the server's log",
            "not-json": f"see whether {self._url} is an OpenAI-compatible address (most end in /v1)",
            "too-long": "ask for less, or lower max_tokens",
            "refused": "change the request: see what the server says",
        }
        return fixes.get(kind, "")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks for: milliseconds, seconds or a date."""
    try:
        if text := headers.get("retry-after-ms"):
            return max(0.0, float(text) / 1000)
        text = headers.get("retry-after", "")
        return max(0.0, float(text)) if text else None
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(str(text)).timestamp() - time.time())
    except ValueError:
        return None


def _error_of(body: object) -> Mapping[str, Any]:
    """The SDKs unwrap {"error": {...}} sometimes, and servers nest it as they like."""
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _message(body: object) -> str:
    if isinstance(body, Mapping) and isinstance(body.get("error"), str):
        return str(body["error"])
    return str(_error_of(body).get("message") or "")


def _code(body: object) -> str:
    error = _error_of(body)
    return str(error.get("code") or error.get("type") or "")


def _kind_of_body(body: object) -> FaultKind | None:
    error = _error_of(body)
    for field in ("code", "type"):
        if kind := _KIND_OF_TYPE.get(str(error.get(field))):
            return kind
    return None
