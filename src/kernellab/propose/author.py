"""The author: one question to a model, from facts to a typed answer. What cannot be read is an answer too, of its own kind.

Who asks chooses the number of the call, so that a resumed run asks under the same numbers and is answered from its journal.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kernellab.propose.models import NEVER, Cancel, Message, Model, Request
from kernellab.propose.prompts import Brief, CodeReply, FormatFailure, Kind, Parsed, PromptBook, parse_reply

_AGAIN = """Your reply could not be read: {what}
Reply again to the same question, in the format that was asked for: an optional <think> part, then one <answer>."""


@dataclass(frozen=True)
class Answer:
    """`request` is the digest under which question and reply lie in the run's store."""

    call: int
    kind: Kind
    request: str
    text: str
    value: CodeReply | Parsed | FormatFailure


@dataclass(frozen=True)
class Author:
    """`prompt_tokens` is the longest prompt (estimated), `max_tokens` the longest reply."""

    model: Model
    name: str
    book: PromptBook
    max_tokens: int = 8192
    temperature: float | None = None
    prompt_tokens: int = 24_000

    def ask(
        self, kind: Kind, brief: Brief, call: int, known: Collection[str] = (), unread: Sequence[Answer] = (),
        cancel: Cancel = NEVER,
    ) -> Answer:  # fmt: skip
        """`known`: the kernels a selection may name. `unread`: earlier replies to this question that could not be read.

        Raises ModelFault where no reply comes."""
        request = self.request(kind, brief, call, unread)
        reply = self.model.complete(request, cancel)
        backend = brief.backend if kind in ("write", "repair", "translate") else ""
        return Answer(call, kind, request.digest, reply.text, parse_reply(kind, reply.text, backend, known))

    def request(self, kind: Kind, brief: Brief, call: int, unread: Sequence[Answer] = ()) -> Request:
        prompt = self.book.render(kind, brief, self.prompt_tokens)
        messages = [Message(role="user", content=prompt.user)]
        for answer in unread:
            assert isinstance(answer.value, FormatFailure)
            messages.append(Message(role="assistant", content=answer.text[:4000] or "(nothing)"))
            messages.append(Message(role="user", content=_AGAIN.format(what=answer.value.what)))
        return Request(
            model=self.name, messages=tuple(messages), system=prompt.system, max_tokens=self.max_tokens,
            temperature=self.temperature, call=call,
        )  # fmt: skip
