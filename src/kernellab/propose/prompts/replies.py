"""What a model's reply can be: code, a choice, a design, an opinion, or a format failure. All of it fit for the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from kernellab.core.records import Param, Record
from kernellab.propose.prompts.facts import Experiment

MOST_EXCERPT = 300
Fault = Literal[
    "empty", "too-large", "no-answer", "two-answers", "unclosed-think", "unclosed-answer", "unclosed-code", "no-code",
    "two-codes", "not-text", "not-python", "no-launch", "no-source", "bad-space", "wrong-backend", "not-json", "two-objects",
    "wrong-json", "unknown-kernel", "bad-template",
]  # fmt: skip
Line = Annotated[str, Field(min_length=1, max_length=4000)]
Gain = Annotated[float, Field(gt=0, le=1000)]


class FormatFailure(Record):
    """What was missing or too much in a reply, with a piece of it."""

    expected: str
    fault: Fault
    what: str
    excerpt: str = Field(max_length=MOST_EXCERPT)


class _Reply(Record):
    think: str = ""
    notes: tuple[str, ...] = ()


class CodeReply(_Reply):
    source: str
    backend: str
    space: dict[str, list[Param]] = Field(default_factory=dict)


class _Asked(Record):
    """What a model is asked to fill in: the declared fields and no others, of the declared types."""


class Selection(_Asked):
    base: Line
    reference: Line | None = None
    why: Line


class ExperimentReply(_Asked):
    hypothesis: Line
    change: Line
    gain_low: Gain
    gain_high: Gain
    risk: Line
    refuted_if: Line

    @model_validator(mode="after")
    def _ordered(self) -> ExperimentReply:
        if self.gain_low > self.gain_high:
            raise ValueError("gain_low is above gain_high")
        return self

    def fact(self) -> Experiment:
        return Experiment(**self.model_dump())


class Design(_Asked):
    experiments: Annotated[tuple[ExperimentReply, ...], Field(min_length=1, max_length=16)]


class Opinion(_Asked):
    """A soft verifier's view. It may order or skip, never accept."""

    verdict: Literal["pass", "fail"]
    confidence: Annotated[float, Field(ge=0, le=1)]
    problem: Annotated[str, Field(max_length=4000)] = ""
    line: int | None = None


class Rewrite(_Asked):
    """The text of a template that a model wrote; whether it may be used is checked apart (rewritten.py)."""

    template: str


@dataclass(frozen=True)
class Parsed:
    """A reply that is no kernel: its value, the reasoning kept apart, and what was overlooked."""

    value: Selection | Design | Opinion | Rewrite
    think: str = ""
    notes: tuple[str, ...] = ()
