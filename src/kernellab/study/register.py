"""The ledger's side of a study: what is written before the first trial, and what an auditor derives again afterwards."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernellab.core.errors import UsageError
from kernellab.core.records import Record, dump
from kernellab.ledger.journal import read_entries
from kernellab.ledger.store import Store
from kernellab.measure.stats import paired_speedup
from kernellab.search.memory.specimen import reader_of
from kernellab.study.evidence import Borrowed, Evidence
from kernellab.study.hypothesis import Hypothesis, changes, difference
from kernellab.study.judgement import StudyVerdict, judge
from kernellab.study.library import checked

STUDY, VERDICT = "study", "study-verdict"


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
    hypothesis: Hypothesis, device: str, candidates: Mapping[str, str], others: list[Other], loans: int = 0
) -> dict[str, Any]:
    """The body of the "study" entry: readable by itself, with the whole file and its digest.

    `loans`: how many trials of the other runs follow as "borrowed" entries.
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
    """Fed the entries of a ledger in order; yields what is wrong with the study in it, if there is one."""

    def __init__(self, folder: Path) -> None:
        self._evidence = Evidence(read=reader_of(Store(folder)))
        self._hypothesis: Hypothesis | None = None
        self._device = ""
        self._before = 0
        self.figures = 0

    def problems(self, kind: str, body: dict[str, Any]) -> Iterator[str]:
        if self._hypothesis is not None:
            self._evidence.take(kind, body)
        elif kind == "trial":
            self._before += 1
        if kind == STUDY:
            yield from self._study(body)
        elif kind == VERDICT:
            yield from self._verdict(body)
        elif kind == "borrowed":
            yield from self._borrowed(Borrowed.model_validate(body))

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
        self._device = str(body["device"])
        if body["digest"] != self._hypothesis.digest:
            yield "the digest is not that of the registered hypothesis"
        wanted = registration(self._hypothesis, body["device"], body["candidates"], [])
        for name in ("id", "claim", "statistic", "prediction", "rule", "n", "level", "seeds"):
            if body[name] != wanted[name]:
                yield f"{name} is {body[name]!r}, the registered hypothesis says {wanted[name]!r}"

    def _verdict(self, body: dict[str, Any]) -> Iterator[str]:
        if self._hypothesis is None:
            yield "gives a verdict on a hypothesis that was never registered"
            return
        wanted = dump(judge(self._hypothesis, self._evidence, self._device))
        self.figures += 3 * len(wanted["parts"])
        for place, derived, said in changes(wanted, dict(body)):
            if not _alike(derived, said):
                yield f"the recorded trials and the rule give another verdict: {place} is {said!r}, derived {derived!r}"

    def _borrowed(self, borrowed: Borrowed) -> Iterator[str]:
        timing = borrowed.trial.timing
        self.figures += 1
        if paired_speedup(timing.candidate_s, timing.baseline_s).value != timing.speedup:
            yield f"borrows trial {borrowed.trial.trial} with a speed-up that its samples do not give"
