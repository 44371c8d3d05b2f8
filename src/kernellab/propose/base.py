"""What a proposer is: it says what to try next and why, and is told what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from kernellab.build.base import Candidate
from kernellab.core.records import AnyTrial, Param


@dataclass(frozen=True)
class Idea:
    """A candidate file, the parameters to try it with, and the reason."""

    candidate: Candidate
    params: dict[str, Param]
    why: str
    origin: Literal["recipe", "user", "warm-start", "replay", "llm"] = "recipe"


class Proposer(Protocol):
    def propose(self) -> Idea | None:
        """The next idea; None when there is nothing left to try, or nothing before the outcome of earlier ideas is known."""

    def learn(self, idea: Idea, score: float | None, trial: AnyTrial | None = None) -> None:
        """What came of an idea: its speed-up over the baseline, None when it was never measured; and the whole record."""
