"""The ledger's side of a study: what a folder holds of one, and what an auditor derives again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kernellab.core.errors import UsageError
from kernellab.core.records import DuplicateTrial, FailedTrial, MeasuredTrial, RejectedTrial, UntimedTrial, dump
from kernellab.ledger.records import AnyGenesis, End, Genesis, Resume
from kernellab.ledger.run import Run
from kernellab.ledger.store import Store
from kernellab.search.memory.specimen import reader_of
from kernellab.studies.adherence import LoanAudit, PlanAudit
from kernellab.studies.evidence import BORROWED, EXAMINATION, Borrowed, Evidence, Examination, Witness
from kernellab.studies.hypothesis import Hypothesis, changes, difference
from kernellab.studies.judgement import VERDICT, StudyVerdict, judge
from kernellab.studies.library import checked
from kernellab.studies.plan import planned
from kernellab.studies.registration import STUDY, Registration, registration

PURPOSE = "study"


@dataclass
class Registered:
    """What a run folder holds of a study."""

    registration: Registration | None = None
    hypothesis: Hypothesis | None = None
    verdict: StudyVerdict | None = None
    evidence: Evidence = field(default_factory=Evidence)


def read_study(folder: Path) -> Registered:
    """The study of a run folder; `hypothesis` is None where the folder holds another kind of run."""
    run = Run(folder)
    evidence = Evidence(run.trials, run.records(EXAMINATION), run.records(BORROWED), reader_of(run.store))
    found = Registered(evidence=evidence)
    if registered := run.records(STUDY):
        found.registration = registered[-1]
        found.hypothesis = checked(found.registration.hypothesis, f"the hypothesis registered in {folder}")
    if verdicts := run.records(VERDICT):
        found.verdict = verdicts[-1]
    return found


def refuse_changed(hypothesis: Hypothesis, registered: Registration, where: str) -> None:
    """A hypothesis that was changed after its registration is another hypothesis."""
    if hypothesis.digest == registered.digest:
        return
    lines = difference(registered.hypothesis, hypothesis.content())
    raise UsageError(
        f"{where} was changed after hypothesis {registered.id} was registered: " + "; ".join(lines),
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
        self._start: AnyGenesis | None = None
        self._registration: Registration | None = None
        self._devices: set[str] = set()
        self._loans: LoanAudit | None = None
        self._plan: PlanAudit | None = None
        self._unplanned = False
        self._judged = False
        self._before = 0
        self.figures = 0

    def problems(self, record: object) -> Iterator[str]:
        match record:
            case Genesis():
                self._start = record
                self._devices.add(record.environment.device)
            case Resume():
                self._devices.add(record.environment.device)
            case Registration():
                yield from self._study(record)
            case StudyVerdict():
                yield from self._verdict(record)
            case End():
                if self._start is not None and self._start.purpose == PURPOSE and not self._judged:
                    yield "the study ends without a verdict"
            case Examination() | Borrowed() | FailedTrial() | RejectedTrial() | DuplicateTrial():
                yield from self._entry(record)
            case MeasuredTrial() | UntimedTrial():
                yield from self._entry(record)

    def _entry(self, witness: Witness) -> Iterator[str]:
        if self._hypothesis is None or self._loans is None:
            self._before += not isinstance(witness, (Examination, Borrowed))
            return
        if self._judged:
            yield "comes after the verdict"
        self._evidence.take(witness)
        if isinstance(witness, Borrowed):
            self.figures += 3
            if self._evidence.trials:
                yield "borrows after the first trial"
            yield from self._loans.taken(witness)
            return
        yield from self._derive(self._hypothesis)
        if isinstance(witness, Examination):
            yield from self._plan.examination(witness) if self._plan is not None else ()
            return
        if witness.device not in self._devices:
            yield f"is of {witness.device}, and the run of {', '.join(sorted(self._devices))}"
        if self._plan is not None:
            yield from self._plan.trial(witness)

    def _derive(self, hypothesis: Hypothesis) -> Iterator[str]:
        """The plan, once the loans are there; where the record is not enough for it, that is said once."""
        if self._plan is not None or self._unplanned:
            return
        try:
            found = planned(hypothesis, *self._terms(), self._evidence)
            self._plan = PlanAudit(hypothesis, found, self._evidence)
        except UsageError as fault:
            self._unplanned = True
            yield f"the registered plan cannot be derived, so no trial can be held against it: {fault.what}"

    def _terms(self) -> tuple[Registration, Genesis]:
        """What the study was registered as, in a run that was begun as one."""
        if self._registration is None or not isinstance(self._start, Genesis):
            raise UsageError("the run's first entry says nothing of a task", "see 'klab audit'")
        return self._registration, self._start

    def _study(self, said: Registration) -> Iterator[str]:
        if self._hypothesis is not None:
            yield "registers a second hypothesis in one run"
        if self._before:
            yield f"registers a hypothesis after {self._before} trials"
        try:
            self._hypothesis = checked(said.hypothesis, "the registered hypothesis")
        except UsageError as fault:
            yield fault.what
            return
        self._registration, self._loans = said, LoanAudit(self._hypothesis, said)
        yield from self._registered(self._hypothesis, said)

    def _registered(self, hypothesis: Hypothesis, said: Registration) -> Iterator[str]:
        """Everything that the entry says beside the hypothesis has to follow from it and from the run's first entry."""
        if said.digest != hypothesis.digest:
            yield "the digest is not that of the registered hypothesis"
        start = self._start
        if not isinstance(start, Genesis):
            yield "is registered in a run whose first entry says nothing of a task"
            return
        sources = {c.name: c.source for c in start.candidates}
        wanted = registration(hypothesis, start.settings.device, sources, said.others, said.loans, said.choices,
                              said.earlier)  # fmt: skip
        for place, derived, stated in changes(STUDY.plain(wanted), STUDY.plain(said)):
            if place != "digest" and not place.startswith("hypothesis."):
                yield f"{place} is {stated!r}, the registered hypothesis and the run say {derived!r}"
        terms = {
            "effort": (start.settings.effort, hypothesis.effort),
            "seed": (start.settings.seed, hypothesis.seeds[0]),
        }
        for name, (has, registered) in terms.items():
            if has != registered:
                yield f"the run has {name} {has!r}, the registered hypothesis {registered!r}"

    def _verdict(self, said: StudyVerdict) -> Iterator[str]:
        if self._hypothesis is None or self._loans is None or self._registration is None:
            yield "gives a verdict on a hypothesis that was never registered"
            return
        if self._judged:
            yield "gives a second verdict"
        self._judged = True
        yield from self._derive(self._hypothesis)
        yield from self._loans.whole()
        if self._plan is not None:
            yield from self._plan.whole()
        wanted = dump(judge(self._hypothesis, self._evidence, self._registration.device, said.edition))
        self.figures += 3 * len(wanted["parts"])
        for place, derived, stated in changes(wanted, dump(said)):
            if not _alike(derived, stated):
                yield f"the recorded trials and the rule give another verdict: {place} is {stated!r}, derived {derived!r}"
