"""A look at a candidate before hardware sees it: three questions to a model, and what follows from the answers.

A look may put a candidate later in the queue or have it skipped. It can never have one accepted: the most it says of a good
candidate is that no verifier spoke against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, model_validator

from kernellab.core.ids import canonical_json, sha256_hex
from kernellab.core.records import Param, Record
from kernellab.ledger.kinds import EntryKind
from kernellab.propose.author import Author
from kernellab.propose.models import NEVER, Cancel, ModelFault
from kernellab.propose.prompts import Brief, DeviceFacts, FormatFailure, KernelFacts, Opinion, Parsed, TaskFacts
from kernellab.propose.prompts.render import PromptTooLong
from kernellab.search.soft.fate import SOFT_KINDS, SoftKind

NEUTRAL = 0.5
"""Where a candidate without any opinion stands in the queue."""


class Said(Record):
    status: Literal["said"] = "said"
    kind: SoftKind
    call: int
    request: str
    opinion: Opinion

    @property
    def p_fail(self) -> float:
        sure = self.opinion.confidence
        return sure if self.opinion.verdict == "fail" else 1 - sure


class Unreadable(Record):
    """A reply that is no opinion."""

    status: Literal["unreadable"] = "unreadable"
    kind: SoftKind
    call: int
    request: str
    failure: FormatFailure

    @property
    def p_fail(self) -> None:
        return None


class Silent(Record):
    """No reply came: a fault that does not stop a run, or a candidate too long to be shown."""

    status: Literal["silent"] = "silent"
    kind: SoftKind
    call: int
    cause: str
    reason: str

    @property
    def p_fail(self) -> None:
        return None


AnyAnswer = Said | Unreadable | Silent


class Look(Record):
    """`p_fail` is None where nobody had an opinion. `audited`: to be skipped, but tried to keep the figures honest."""

    answers: tuple[Annotated[AnyAnswer, Field(discriminator="status")], ...]
    p_fail: float | None
    skip_above: float
    audit_share: float
    audited: bool
    skip: bool

    @property
    def flagged(self) -> bool:
        return self.p_fail is not None and self.p_fail > self.skip_above

    def answer(self, kind: SoftKind) -> AnyAnswer | None:
        return next((a for a in self.answers if a.kind == kind), None)

    @model_validator(mode="after")
    def _skips_what_is_flagged_and_not_audited(self) -> Look:
        if self.skip != (self.flagged and not self.audited) or (self.audited and not self.flagged):
            raise ValueError("a look skips exactly what is above its threshold and not chosen for audit")
        return self


class Looked(Record):
    """A look as it stands in the ledger, with the candidate it is about; trials are found by source and parameters."""

    source: str
    params: dict[str, Param]
    look: Look


SOFT = EntryKind("soft", TypeAdapter(Looked))


class SoftVerifier:
    """`skip_above`: a probability of failure; 1 skips nothing. `audit_share` of what would be skipped is tried."""

    def __init__(
        self, author: Author, kinds: Sequence[SoftKind] = SOFT_KINDS, skip_above: float = 0.8,
        audit_share: float = 0.1, seed: int = 0,
    ) -> None:  # fmt: skip
        if not kinds or len(set(kinds)) < len(kinds):
            raise ValueError("give each kind of verifier once, and at least one")
        if not (0 <= skip_above <= 1 and 0 <= audit_share <= 1):
            raise ValueError("skip_above and audit_share lie between 0 and 1")
        self._author = author
        self.kinds = tuple(kinds)
        self._skip_above = skip_above
        self._audit_share = audit_share
        self._seed = seed

    @property
    def calls(self) -> int:
        """How many numbers of calls one look takes."""
        return len(self.kinds)

    def look(
        self, candidate_source: str, params: Mapping[str, Param], task: TaskFacts, device: DeviceFacts,
        backend: str, first_call: int, cancel: Cancel = NEVER,
    ) -> Look:  # fmt: skip
        """One call a kind, numbered from `first_call` on. Raises the ModelFaults that stop a run, and no others."""
        brief = brief_for(candidate_source, params, task, device, backend)
        answers = [ask(self._author, k, brief, first_call + i, cancel) for i, k in enumerate(self.kinds)]
        p_fail = combined(answers)
        flagged = p_fail is not None and p_fail > self._skip_above
        audited = flagged and self._drawn(candidate_source, params)
        return Look(
            answers=tuple(answers), p_fail=p_fail, skip_above=self._skip_above, audit_share=self._audit_share,
            audited=audited, skip=flagged and not audited,
        )  # fmt: skip

    def _drawn(self, source: str, params: Mapping[str, Param]) -> bool:
        """By hash, so that it depends on the candidate and the seed alone, not on when it comes or on a resume."""
        name = canonical_json([self._seed, sha256_hex(source.encode("utf-8", "replace")), dict(params)])
        return int(sha256_hex(name)[:13], 16) / 16**13 < self._audit_share


def combined(answers: Iterable[AnyAnswer]) -> float | None:
    """The most worried of those who have an opinion.

    Not 1 - product(1 - p): one model's three opinions on one text are anything but independent, and three lukewarm
    passes would add up to a failure.
    """
    return max((a.p_fail for a in answers if a.p_fail is not None), default=None)


def order(looks: Sequence[Look]) -> list[int]:
    """The places of the looks, most promising first; equals stay in their order."""
    return sorted(range(len(looks)), key=lambda i: _worry(looks[i]))


def _worry(look: Look) -> float:
    return NEUTRAL if look.p_fail is None else look.p_fail


def brief_for(source: str, params: Mapping[str, Param], task: TaskFacts, device: DeviceFacts, backend: str) -> Brief:
    return Brief(task, device, backend, base=KernelFacts("candidate", source, dict(params), "untried"))


def ask(author: Author, kind: SoftKind, brief: Brief, call: int, cancel: Cancel = NEVER) -> AnyAnswer:
    """One verifier's answer. A reply without an opinion is an answer too; only faults that stop a run are raised."""
    try:
        answer = author.ask(kind, brief, call, cancel=cancel)
    except PromptTooLong as fault:
        return Silent(kind=kind, call=call, cause="prompt-too-long", reason=fault.what)
    except ModelFault as fault:
        if fault.stops:
            raise
        return Silent(kind=kind, call=call, cause=fault.kind, reason=fault.reason)
    value = answer.value
    if isinstance(value, FormatFailure):
        return Unreadable(kind=kind, call=call, request=answer.request, failure=value)
    assert isinstance(value, Parsed)
    assert isinstance(value.value, Opinion)
    return Said(kind=kind, call=call, request=answer.request, opinion=value.value)
