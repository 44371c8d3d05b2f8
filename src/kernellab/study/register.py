"""The ledger's side of a study: what is written before the first trial, and what an auditor derives again afterwards."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernellab.core.errors import UsageError
from kernellab.core.records import TRIAL, Param, Record, dump
from kernellab.ledger.journal import read_entries
from kernellab.ledger.store import Store
from kernellab.search.memory.specimen import reader_of
from kernellab.study.adherence import LoanAudit, PlanAudit
from kernellab.study.evidence import Borrowed, Evidence, Examination
from kernellab.study.hypothesis import Hypothesis, changes, difference
from kernellab.study.judgement import StudyVerdict, judge
from kernellab.study.library import checked
from kernellab.study.plan import planned

STUDY, VERDICT = "study", "study-verdict"
Spaces = Mapping[str, Mapping[str, Sequence[Param]]]
"""For each candidate the choices of its parameters."""


class Other(Record):
    """A run of another device that a study compares with: its name, root and device."""

    run: str
    root: str
    device: str


@dataclass
class Registered:
    """What a run folder holds of a study."""

    body: dict[str, Any] | None = None
    hypothesis: Hypothesis | None = None
    verdict: StudyVerdict | None = None
    evidence: Evidence = field(default_factory=Evidence)


def registration(
    hypothesis: Hypothesis, device: str, candidates: Mapping[str, str], others: list[Other], loans: int,
    spaces: Spaces | None,
) -> dict[str, Any]:  # fmt: skip
    """The body of the "study" entry: readable by itself, with the whole file and its digest.

    `loans`: how many trials of the other runs follow as "borrowed" entries. `spaces`: the choices of every candidate, in
    their order, which decides what a sample of them is (None: a record from before they were written down).
    """
    first = hypothesis.parts(device)[0]
    return {
        "id": hypothesis.id,
        "title": hypothesis.title,
        "claim": hypothesis.claim,
        "statistic": first.statistic,
        "prediction": first.prediction,
        "rule": first.rule.words(hypothesis.level),
        "n": hypothesis.sample,
        "level": hypothesis.level,
        "seeds": hypothesis.seeds,
        "device": device,
        "candidates": dict(candidates),
        "others": [dump(o) for o in others],
        "loans": loans,
        "digest": hypothesis.digest,
        "hypothesis": hypothesis.content(),
        **({} if spaces is None else {"spaces": {k: [[p, c] for p, c in v.items()] for k, v in spaces.items()}}),
    }


def read_study(folder: Path) -> Registered:
    """The study of a run folder; `hypothesis` is None where the folder holds another kind of run."""
    found = Registered(evidence=Evidence(read=reader_of(Store(folder))))
    for entry in read_entries(folder):
        if entry.kind == STUDY:
            found.body = dict(entry.body)
            found.hypothesis = checked(found.body["hypothesis"], f"the hypothesis registered in {folder}")
        elif entry.kind == VERDICT:
            found.verdict = StudyVerdict.model_validate(entry.body)
        else:
            found.evidence.take(entry.kind, entry.body)
    return found


def refuse_changed(hypothesis: Hypothesis, body: Mapping[str, Any], where: str) -> None:
    """A hypothesis that was changed after its registration is another hypothesis."""
    if hypothesis.digest == body["digest"]:
        return
    lines = difference(dict(body["hypothesis"]), hypothesis.content())
    raise UsageError(
        f"{where} was changed after hypothesis {body['id']} was registered: " + "; ".join(lines),
        "a changed hypothesis is a new one: give it another --out; or put back what was registered",
    )


def _alike(a: object, b: object) -> bool:
    """Figures may differ in their last digits: another machine's logarithm rounds otherwise."""
    if isinstance(a, float) and isinstance(b, (int, float)) and not isinstance(b, bool):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    return a == b


class StudyAudit:
    """Fed the entries of a ledger in order; yields what is wrong with the study in it, if there is one: a registration
    that its hypothesis does not give, a record that does not keep to its plan, a verdict that does not follow."""

    def __init__(self, folder: Path) -> None:
        self._evidence = Evidence(read=reader_of(Store(folder)))
        self._hypothesis: Hypothesis | None = None
        self._start: dict[str, Any] = {}
        self._body: dict[str, Any] = {}
        self._devices: set[str] = set()
        self._loans: LoanAudit | None = None
        self._plan: PlanAudit | None = None
        self._unplanned = False
        self._judged = False
        self._before = 0
        self.figures = 0

    def problems(self, kind: str, body: dict[str, Any]) -> Iterator[str]:
        if kind == "run":
            self._start = body
        if kind in ("run", "resume") and self._start.get("purpose") == "study":
            self._devices.add(str(body["environment"]["device"]))
        if kind == STUDY:
            yield from self._study(body)
        elif kind == VERDICT:
            yield from self._verdict(body)
        elif kind == "end" and self._start.get("purpose") == "study" and not self._judged:
            yield "the study ends without a verdict"
        elif kind in ("trial", "examination", "borrowed"):
            yield from self._entry(kind, body)

    def _entry(self, kind: str, body: dict[str, Any]) -> Iterator[str]:
        if self._hypothesis is None or self._loans is None:
            self._before += kind == "trial"
            return
        if self._judged:
            yield "comes after the verdict"
        self._evidence.take(kind, body)
        if kind == "borrowed":
            self.figures += 3
            if self._evidence.trials:
                yield "borrows after the first trial"
            yield from self._loans.taken(Borrowed.model_validate(body))
            return
        yield from self._derive(self._hypothesis)
        if kind == "trial" and body["device"] not in self._devices:
            yield f"is of {body['device']}, and the run of {', '.join(sorted(self._devices))}"
        if self._plan is not None and kind == "trial":
            yield from self._plan.trial(TRIAL.validate_python(body))
        elif self._plan is not None:
            yield from self._plan.examination(Examination.model_validate(body))

    def _derive(self, hypothesis: Hypothesis) -> Iterator[str]:
        """The plan, once the loans are there; where the record is not enough for it, that is said once."""
        if self._plan is not None or self._unplanned:
            return
        try:
            found = planned(hypothesis, self._body, self._start, self._evidence)
            self._plan = PlanAudit(hypothesis, found, self._evidence)
        except UsageError as fault:
            self._unplanned = True
            yield f"the registered plan cannot be derived, so no trial can be held against it: {fault.what}"

    def _study(self, body: dict[str, Any]) -> Iterator[str]:
        if self._hypothesis is not None:
            yield "registers a second hypothesis in one run"
        if self._before:
            yield f"registers a hypothesis after {self._before} trials"
        try:
            self._hypothesis = checked(body["hypothesis"], "the registered hypothesis")
        except UsageError as fault:
            yield fault.what
            return
        self._body, self._loans = body, LoanAudit(self._hypothesis, body)
        yield from self._registered(self._hypothesis, body)

    def _registered(self, hypothesis: Hypothesis, body: dict[str, Any]) -> Iterator[str]:
        """Everything that the entry says beside the hypothesis has to follow from it and from the run's first entry."""
        if body["digest"] != hypothesis.digest:
            yield "the digest is not that of the registered hypothesis"
        start = self._start
        sources = {c["name"]: c["source"] for c in start["candidates"]}
        others = [Other.model_validate(o) for o in body["others"]]
        spaces = {k: dict(v) for k, v in body["spaces"].items()} if "spaces" in body else None
        wanted = registration(hypothesis, start["settings"]["device"], sources, others, body["loans"], spaces)
        for place, derived, said in changes(wanted, body):
            if place != "digest" and not place.startswith("hypothesis."):
                yield f"{place} is {said!r}, the registered hypothesis and the run say {derived!r}"
        terms = {"effort": hypothesis.effort, "seed": hypothesis.seeds[0]}
        for name, value in terms.items():
            if start["settings"][name] != value:
                yield f"the run has {name} {start['settings'][name]!r}, the registered hypothesis {value!r}"

    def _verdict(self, body: dict[str, Any]) -> Iterator[str]:
        if self._hypothesis is None or self._loans is None:
            yield "gives a verdict on a hypothesis that was never registered"
            return
        if self._judged:
            yield "gives a second verdict"
        self._judged = True
        yield from self._derive(self._hypothesis)
        yield from self._loans.whole()
        if self._plan is not None:
            yield from self._plan.whole()
        wanted = dump(judge(self._hypothesis, self._evidence, str(self._body["device"])))
        self.figures += 3 * len(wanted["parts"])
        for place, derived, said in changes(wanted, dict(body)):
            if not _alike(derived, said):
                yield f"the recorded trials and the rule give another verdict: {place} is {said!r}, derived {derived!r}"
