"""What the filter says of a problem: a class, the evidence for it, and what the problem is like otherwise."""

from __future__ import annotations

from typing import Literal

from kernellab.core.records import Record

ProblemClass = Literal[
    "broken", "training-mode", "dropout", "refused", "too-large", "duplicate", "constant", "zeros-accepted",
    "mean-accepted", "linear-collapse", "ok",
]  # fmt: skip
ORDER: tuple[ProblemClass, ...] = (
    "broken", "training-mode", "dropout", "refused", "too-large", "duplicate", "constant", "zeros-accepted",
    "mean-accepted", "linear-collapse", "ok",
)  # fmt: skip
"""A problem is of the first of these that fits; the others stand in its evidence."""
NOT_A_TASK: tuple[ProblemClass, ...] = ("broken", "training-mode", "dropout", "refused")
"""Cannot be searched as they are."""
LEFT_OUT: tuple[ProblemClass, ...] = ("too-large", "duplicate", "constant")
"""Could be, but it would say nothing."""


class Finding(Record):
    is_a: ProblemClass
    evidence: str


class CheckedProblem(Record):
    """`operators`: its class of operators. `graph`: the digest of what is computed, at the problem's own sizes; `sizes`:
    those sizes. `timed`: the shape that a search would time. `reduced`: captured at smaller sizes than the problem's own.
    """

    name: str
    findings: tuple[Finding, ...] = ()
    operators: str = ""
    graph: str = ""
    sizes: str = ""
    timed: str = ""
    reduced: bool = False
    eval_mode: bool = False
    remarks: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def is_a(self) -> ProblemClass:
        return min((f.is_a for f in self.findings), key=ORDER.index, default="ok")

    @property
    def evidence(self) -> str:
        return "; ".join(f.evidence for f in sorted(self.findings, key=lambda f: ORDER.index(f.is_a)))

    @property
    def searched(self) -> bool:
        return self.is_a not in (*NOT_A_TASK, *LEFT_OUT)

    @property
    def same_as(self) -> str:
        """What two problems have in common that are one: the graph and its sizes."""
        return f"{self.graph} {self.sizes}" if self.graph else ""
