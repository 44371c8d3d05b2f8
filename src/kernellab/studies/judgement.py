"""From evidence to verdict, by the rule alone; the same function for the laboratory and for its auditor."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import TypeAdapter

from kernellab.core.records import Record
from kernellab.ledger.kinds import EntryKind
from kernellab.studies.evidence import Evidence
from kernellab.studies.finding import Finding, NotTestable
from kernellab.studies.hypothesis import Hypothesis, Part
from kernellab.studies.statistics import STATISTICS

Outcome = Literal["confirmed", "rejected", "inconclusive"]


class PartVerdict(Record):
    """`value` to `high` are None where the part cannot be tested here."""

    name: str
    prediction: str
    verdict: Outcome
    testable: bool
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    n: int
    trials: list[int]
    rule: str
    reason: str


EDITION = 2
"""Of a verdict's reasons. Since 2 they say what was tried and gave no timing."""


class StudyVerdict(Record):
    """The ledger's "study-verdict". The figures at the top are those of the first part, on which the claim rests.
    `edition`: by which words its reasons are written, so that an auditor writes them again."""

    id: str
    digest: str
    verdict: Outcome
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    n: int
    trials: list[int]
    reason: str
    parts: list[PartVerdict]
    edition: int = 1


VERDICT = EntryKind("study-verdict", TypeAdapter(StudyVerdict))


def judge(hypothesis: Hypothesis, evidence: Evidence, device: str, edition: int = EDITION) -> StudyVerdict:
    parts = [_judge_part(hypothesis, part, evidence, edition) for part in hypothesis.parts(device)]
    first = parts[0]
    figures = first.model_dump(include={"statistic", "value", "low", "high", "level", "n", "trials"})
    return StudyVerdict(
        id=hypothesis.id, digest=hypothesis.digest, verdict=_overall(parts), reason=_reason(parts), parts=parts,
        edition=edition, **figures,
    )  # fmt: skip


def _judge_part(hypothesis: Hypothesis, part: Part, evidence: Evidence, edition: int) -> PartVerdict:
    evidence = evidence.where(part.where)
    lost = evidence.lost() if edition >= EDITION else ""
    statistic = STATISTICS[part.statistic]
    found = statistic.compute(statistic.options.model_validate(part.options), evidence, hypothesis.level)
    common: dict[str, Any] = {"name": part.name, "prediction": part.prediction, "statistic": part.statistic,
                              "level": hypothesis.level, "rule": part.rule.words(hypothesis.level)}  # fmt: skip
    if isinstance(found, NotTestable):
        return PartVerdict(**common, verdict="inconclusive", testable=False, value=None, low=None, high=None, n=0,
                           trials=[], reason=f"not testable here: {found.words(lost)}")  # fmt: skip
    verdict, reason = _decide(part, found, hypothesis.sample)
    few = found.n < max(hypothesis.sample, found.least)
    said = "; ".join(filter(None, (reason, lost if few else "", found.says)))
    return PartVerdict(**common, verdict=verdict, testable=True, value=found.value, low=found.low, high=found.high,
                       n=found.n, trials=list(found.trials), reason=said)  # fmt: skip


def _decide(part: Part, found: Finding, sample: int) -> tuple[Outcome, str]:
    at_least, bound = part.rule.side == "at-least", part.rule.bound
    figure = f"{found.value:.4g} [{found.low:.4g}, {found.high:.4g}], n={found.n}"
    if found.n < sample:
        return "inconclusive", f"{figure}: fewer than the {sample} values that were asked for"
    if found.n < found.least:
        return "inconclusive", f"{figure}: an interval of this level takes {found.least} values"
    holds = found.low >= bound if at_least else found.high <= bound
    fails = found.high < bound if at_least else found.low > bound
    side = f"{'at least' if at_least else 'at most'} {bound:g}"
    if holds:
        return "confirmed", f"{figure}: {side}, as predicted"
    return (
        ("rejected", f"{figure}: not {side}") if fails else ("inconclusive", f"{figure}: across the bound of {bound:g}")
    )


def _overall(parts: list[PartVerdict]) -> Outcome:
    """The first part carries the claim: where it cannot be tested, nothing can be confirmed."""
    testable = [p.verdict for p in parts if p.testable]
    if "rejected" in testable:
        return "rejected"
    return "confirmed" if parts[0].testable and all(v == "confirmed" for v in testable) else "inconclusive"


def _reason(parts: list[PartVerdict]) -> str:
    if len(parts) == 1:
        return parts[0].reason
    return " | ".join(f"{p.name} {p.verdict if p.testable else ''}".strip() + f": {p.reason}" for p in parts)
