"""What became of a candidate for real, and which of the soft verifiers should have seen it coming.

A verdict names a symptom. Each symptom belongs to the one verifier whose question covers it; some (a process that
leaves the sandbox, a time too good to be true) to none, and they count for all verifiers together only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from kernellab.core.records import Confirmation, FailedTrial, MeasuredTrial, Record, Rejected, RejectedTrial
from kernellab.search.archive import AnyTrial

SoftKind = Literal["soft_compile", "soft_memory", "soft_numerics"]
SOFT_KINDS: tuple[SoftKind, ...] = get_args(SoftKind)
Outcome = Literal["passed", "built", "invalid", "build-failed", "rejected"]
_NOT_BUILT = ("invalid", "build-failed")
_CAUSES: dict[SoftKind, frozenset[str]] = {
    "soft_compile": frozenset({"plan"}),
    "soft_memory": frozenset({"out-of-bounds", "input-written", "crash", "nondeterministic", "unwritten", "memory",
                              "static-memory", "timeout"}),
    "soft_numerics": frozenset({"wrong-output", "non-finite"}),
}  # fmt: skip


class Fate(Record):
    """`built`: it builds, and more is not known (there was no device). `cause` is that of a rejection."""

    outcome: Outcome
    cause: str = ""
    reason: str = ""

    @staticmethod
    def rejected(verdict: Rejected) -> Fate:
        return Fate(outcome="rejected", cause=verdict.cause, reason=verdict.reason[:400])

    @property
    def failed(self) -> bool | None:
        """None: not known."""
        return None if self.outcome == "built" else self.outcome != "passed"

    @property
    def domain(self) -> SoftKind | None:
        """The verifier whose question this failure answers; None: none's, or no failure."""
        if self.outcome in _NOT_BUILT:
            return "soft_compile"
        return next((kind for kind, causes in _CAUSES.items() if self.cause in causes), None)

    def fails(self, kind: SoftKind) -> bool | None:
        """The true answer to a verifier's question; None where this fate does not give it.

        Whether it builds is always known. What never ran says nothing of memory and numbers, and what was rejected
        for one of them says nothing of the other: the judge stops at the first fault.
        """
        if self.domain == kind:
            return True
        if kind == "soft_compile" or self.outcome == "passed":
            return False
        return None


def fate_of(trial: AnyTrial, confirmations: Iterable[Confirmation] = ()) -> Fate | None:
    """A trial's fate; a confirmation that rejected it overrules. None for a duplicate, which has no verdict of its own."""
    if isinstance(trial, FailedTrial):
        return Fate(outcome=trial.status, reason=trial.reason[:400])
    if isinstance(trial, RejectedTrial):
        return Fate.rejected(trial.verdict)
    if not isinstance(trial, MeasuredTrial):
        return None
    for confirmation in confirmations:
        if confirmation.trial == trial.trial and isinstance(confirmation.verdict, Rejected):
            return Fate.rejected(confirmation.verdict)
    return Fate(outcome="passed")
