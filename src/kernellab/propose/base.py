"""What a proposer is: it is asked what to try next, and told what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol

from kernellab.build.base import Candidate
from kernellab.core.records import (
    AnyTrial,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Param,
    RejectedTrial,
    UntimedTrial,
)
from kernellab.measurement.stats import Estimate

Reached = Literal["build", "screen", "verdict", "timing"]


@dataclass(frozen=True)
class Idea:
    """A candidate file, the parameters to try it with, and the reason.

    `origin`: "recipe", "user", "warm-start", "replay", "llm", "policy" (a learned one), or a proposer's own word. The record
    keeps it.
    """

    candidate: Candidate
    params: dict[str, Param]
    why: str
    origin: str = "recipe"


@dataclass(frozen=True)
class TrialOutcome:
    """What came of an idea: how far it got, how far off it was, how fast it is. `trial` is its number in the run.

    `reached`: the last stage it came to. "build": it could not be built. "screen": it was built, and the judge rejected
    it. "verdict": it is right, and the machine was too busy to time it. "timing": it is right and was timed.
    `reason` says why it got no further. The errors are the largest that were seen, where one was measured, of kernels
    that passed too. `speedup` is over the fastest baseline. An equal of an earlier trial has that one's outcome.
    """

    idea: Idea
    trial: int
    reached: Reached
    reason: str = ""
    max_abs_err: float | None = None
    max_ulp: float | None = None
    speedup: Estimate | None = None

    @property
    def score(self) -> float | None:
        """The speed-up that is certain; None for what was never timed."""
        return self.speedup.low if self.speedup else None

    @staticmethod
    def of(idea: Idea, number: int, found: AnyTrial) -> TrialOutcome:
        """`found` is the trial of this number, or the earlier one whose equal it is."""
        assert not isinstance(found, DuplicateTrial)
        if isinstance(found, FailedTrial):
            return TrialOutcome(idea, number, "build", f"{found.status}: {found.reason}")
        errors = found.verdict.max_abs_err, found.verdict.max_ulp
        if isinstance(found, RejectedTrial):
            return TrialOutcome(idea, number, "screen", f"{found.verdict.cause}: {found.verdict.reason}", *errors)
        if isinstance(found, UntimedTrial):
            return TrialOutcome(idea, number, "verdict", found.reason, *errors)
        assert isinstance(found, MeasuredTrial)
        timing = found.timing
        speedup = Estimate(timing.speedup, timing.speedup_low, timing.speedup_high, len(timing.candidate_s))
        return TrialOutcome(idea, number, "timing", "", *errors, speedup)


class Proposer(Protocol):
    """Ideas are asked for ahead of the outcomes of earlier ones, as many as can be built at a time."""

    def ask(self, n: int) -> list[Idea]:
        """At most `n` ideas, as many as are there at once. None: none before the outcomes of earlier ones are told, or,
        where all of them were told, none at all."""

    def tell(self, outcomes: Sequence[TrialOutcome]) -> None:
        """What came of ideas, in the order of their trials; first of all those of an earlier life of the run."""


def up_to(n: int, propose: Callable[[], Idea | None]) -> list[Idea]:
    """So many ideas of one who makes them one by one, until there is none."""
    return list(islice(iter(propose, None), n))


class Listed:
    """A plan that is fixed beforehand. What is on record already is not tried again."""

    def __init__(self, ideas: Sequence[Idea]) -> None:
        self._left = list(ideas)

    def ask(self, n: int) -> list[Idea]:
        taken, self._left = self._left[:n], self._left[n:]
        return taken

    def tell(self, outcomes: Sequence[TrialOutcome]) -> None:
        done = [(outcome.idea.candidate, outcome.idea.params) for outcome in outcomes]
        self._left = [idea for idea in self._left if (idea.candidate, idea.params) not in done]
