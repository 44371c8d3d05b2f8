"""What a model is to the scientist: a question goes in, a reply or a fault with its remedy comes out.

A request is named by the SHA-256 of its canonical JSON and by the ordinal of the call, so that the same words
asked twice on purpose (two samples) are two calls, and asked again after a cut are the same one.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal, Protocol

from pydantic import Field, field_validator, model_validator

from kernellab.core.errors import KlabError
from kernellab.core.ids import canonical_json, sha256_hex
from kernellab.core.records import Record

FaultKind = Literal[
    "wrong-key", "unknown-model", "rate-limit", "server-error", "unreachable", "time-out", "cut-stream", "not-json",
    "too-long", "refused", "budget", "no-extra", "cancelled", "in-doubt", "not-recorded",
]  # fmt: skip
STOPPING: frozenset[FaultKind] = frozenset(
    {"wrong-key", "unknown-model", "rate-limit", "unreachable", "budget", "no-extra", "cancelled", "not-recorded"}
)
Finish = Literal["stop", "length", "other"]


class Message(Record):
    role: Literal["user", "assistant"]
    content: str


class Request(Record):
    """`call` is chosen by whoever asks and is not part of the digest; fields that are None are left to the server."""

    model: str = Field(min_length=1)
    messages: tuple[Message, ...] = Field(min_length=1)
    system: str = ""
    max_tokens: int = Field(4096, ge=1)
    temperature: float | None = Field(None, ge=0)
    seed: int | None = None
    stop: tuple[str, ...] = ()
    call: int = Field(0, ge=0)

    @field_validator("stop")
    @classmethod
    def _no_empty_stop(cls, stop: tuple[str, ...]) -> tuple[str, ...]:
        if not all(stop):
            raise ValueError("an empty stop text would end every reply at once")
        return stop

    @model_validator(mode="after")
    def _is_text(self) -> Request:
        self.canonical  # noqa: B018  (a lone surrogate can be neither sent nor recorded)
        return self

    @cached_property
    def canonical(self) -> bytes:
        return canonical_json(self.model_dump(mode="json", exclude={"call"}))

    @cached_property
    def digest(self) -> str:
        return sha256_hex(self.canonical)


class Usage(Record):
    """Tokens as the API itself reports them; None: it did not say. `tokens_in` includes the cached ones."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None

    @property
    def reported(self) -> bool:
        return self.tokens_in is not None and self.tokens_out is not None

    @property
    def charged(self) -> Usage:
        """Of a call that broke off: its input is paid though nobody counted the output."""
        return self if self.tokens_in is None else self.model_copy(update={"tokens_out": self.tokens_out or 0})

    def plus(self, other: Usage) -> Usage:
        """Together; what neither reported stays unknown."""
        return Usage(
            tokens_in=_sum(self.tokens_in, other.tokens_in),
            tokens_out=_sum(self.tokens_out, other.tokens_out),
            tokens_cached=_sum(self.tokens_cached, other.tokens_cached),
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)


class Reply(Record):
    """`cost_usd` is None where no price is known; `request` is the digest that this answers."""

    text: str
    finish: Finish
    usage: Usage
    cost_usd: float | None
    seconds: float
    request: str


class FaultNote(Record):
    """A fault as it stands in the record."""

    kind: FaultKind
    reason: str
    fix: str = ""
    retryable: bool = False

    def fault(self) -> ModelFault:
        return ModelFault(self.kind, self.reason, self.fix, retryable=self.retryable)


class ModelFault(KlabError):
    """No reply came of it. `retry_after_s` is what the server asked for; `usage` what it charged all the same."""

    def __init__(
        self, kind: FaultKind, reason: str, fix: str = "", *, retryable: bool = False,
        retry_after_s: float | None = None, usage: Usage | None = None,
    ) -> None:  # fmt: skip
        super().__init__(reason, fix)
        self.kind: FaultKind = kind
        self.reason = reason
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.usage = usage or Usage()

    @property
    def stops(self) -> bool:
        """A person must do something before it makes sense to ask again; other faults cost one proposal."""
        return self.kind in STOPPING

    @property
    def note(self) -> FaultNote:
        return FaultNote(kind=self.kind, reason=self.reason, fix=self.fix, retryable=self.retryable)


class Cancel(Protocol):
    """A threading.Event will do."""

    def is_set(self) -> bool: ...


class _Never:
    def is_set(self) -> bool:
        return False


NEVER: Cancel = _Never()


class Model(Protocol):
    def complete(self, request: Request, cancel: Cancel = NEVER) -> Reply:
        """Blocks; raises ModelFault. Safe to call from several threads."""
