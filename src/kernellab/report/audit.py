"""The audit: chain, signatures, evidence, and every published figure derived again from the raw samples.

Covered: any change to a record, to a stored blob, to the order or number of entries, to the files beside the ledger that
people would believe; figures that do not follow from their samples; wins that the rule does not grant; verdicts and timings
of other machine code than is stored. Not covered: a laboratory whose owner forged samples before signing them, for which
`audit --rerun` measures again. A folder cut back to an earlier signed head, or signed anew with another key, needs a witness
outside: a pinned key, an anchor, a root written down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kernellab.build.abilities import misstated, unknown_edition
from kernellab.core.errors import LedgerFault
from kernellab.core.ids import digest
from kernellab.core.records import (
    AnyTrial,
    Artifact,
    Confirmation,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Passed,
    RejectedTrial,
    Timing,
    UntimedTrial,
    dump,
)
from kernellab.evaluate.one_artifact import (
    artifact_problems,
    blobs_of,
    confirmation_problems,
    full_problems,
    trial_problems,
    verified_problems,
)
from kernellab.evaluate.one_timing import confirmation_timing_problems, figure_problem, timing_problems
from kernellab.learn.audit import RewardAudit
from kernellab.ledger.check import check
from kernellab.ledger.entry import LEDGER_FILE
from kernellab.ledger.journal import read_entries
from kernellab.ledger.lines import Lines
from kernellab.ledger.merkle import Frontier, leaf_hash
from kernellab.ledger.records import (
    FIGURES,
    AnyResult,
    Calibration,
    End,
    Genesis,
    Judged,
    Listing,
    OtherGenesis,
    Pruned,
    Published,
    RunSettings,
    Unpublished,
)
from kernellab.ledger.run import Run, place_of
from kernellab.ledger.session_records import PURPOSE as SESSION
from kernellab.ledger.session_records import SessionCall, SessionPart
from kernellab.ledger.store import Store
from kernellab.measurement.roofline import Ceilings, floor_of
from kernellab.measurement.stats import median
from kernellab.measurement.winning import noise_floor, wins
from kernellab.report import audit_science
from kernellab.report.audit_certificates import certificate_problems
from kernellab.report.audit_files import audit_files
from kernellab.report.audit_origin import NOBODY, Origin, Witnesses, look_at
from kernellab.report.audit_outcomes import OutcomeAudit
from kernellab.report.audit_places import PlaceAudit
from kernellab.report.entry_kinds import ENTRY_KINDS
from kernellab.studies.register import StudyAudit
from kernellab.tasks.spec import Dims

_MOST = 50


@dataclass
class Audit:
    """What was checked and what was wrong; `problems` empty means that every figure holds. `signed_by`: whose signature it
    is, as far as this reader can tell; `code`: of the laboratory that made the run; `remarks`: what is no failure."""

    folder: str
    run: str = ""
    root: str = ""
    fingerprint: str = ""
    entries: int = 0
    trials: int = 0
    figures: int = 0
    blobs: int = 0
    pruned: int = 0
    ended: bool = False
    torn: bool = False
    public_key: str = ""
    signed_by: str = "self-signed"
    pinned: bool = False
    signer: str = ""
    anchors: list[dict[str, Any]] = field(default_factory=list)
    code: str = ""
    made_by: str = ""
    remarks: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def data(self) -> dict[str, Any]:
        return {
            "status": "ok" if self.ok else "failed",
            **{k: v for k, v in self.__dict__.items() if k != "root"},
            "ledger_root": self.root,
        }


def audit(folder: Path, root: str = "", witnesses: Witnesses = NOBODY) -> Audit:
    """Check a run folder. `root`: the Merkle root that somebody else wrote down, to be compared; `witnesses`: pinned keys
    and anchors, which tell a ledger that was signed anew."""
    report = Audit(str(folder))
    found = check(folder)
    report.run, report.root, report.fingerprint = found.run, found.root, found.fingerprint
    report.entries, report.ended, report.torn = found.size, found.ended, found.torn
    report.problems.extend(found.problems)
    went_on = _entries_since(folder, root) if root and root != found.root else 0
    if went_on:
        report.remarks.append(f"the session went on after that root was written down: {went_on} more entries")
    elif root and root != found.root:
        report.problems.append(f"the root is {found.root}, not {root}: the ledger was cut, continued or exchanged")
    _tell_origin(report, look_at(folder, found, witnesses))
    try:
        certificates = certificate_problems(folder, found)
        for problem in chain(_Reader(folder, report).problems(), _files(folder, report), certificates):
            report.problems.append(problem)
            if len(report.problems) >= _MOST:
                report.problems.append("and more")
                break
    except LedgerFault as fault:
        report.problems.append(fault.what)
    return report


def _entries_since(folder: Path, root: str) -> int:
    """How many entries a session's ledger has beyond those with this root; 0 for one that never had it, and for other runs,
    which are given as a whole."""
    try:
        if Run(folder).purpose != SESSION:
            return 0
        lines = list(Lines(folder / LEDGER_FILE))
    except LedgerFault:
        return 0
    frontier = Frontier()
    for number, line in enumerate(lines, 1):
        frontier = frontier.append(leaf_hash(line))
        if frontier.root().hex() == root:
            return len(lines) - number
    return 0


def _tell_origin(report: Audit, origin: Origin) -> None:
    report.public_key, report.signed_by = origin.public_key, origin.signer.name
    report.signer, report.pinned = origin.signer.words, origin.signer.pinned
    report.anchors = [anchor.data() for anchor in origin.anchors]
    report.code, report.made_by = origin.code, origin.made_by
    report.remarks.extend(origin.remarks)
    report.problems.extend(origin.problems)


def _files(folder: Path, report: Audit) -> Iterator[str]:
    try:
        found = audit_files(folder)
    except (ValidationError, LookupError, TypeError, AttributeError, ValueError) as err:
        yield f"the files beside the ledger cannot be compared with it: {type(err).__name__}: {str(err).splitlines()[0]}"
        return
    report.remarks.extend(found.remarks)
    yield from found.problems


class _Reader:
    """Walks the entries in order and checks each against what came before."""

    def __init__(self, folder: Path, report: Audit) -> None:
        self._folder = folder
        self._report = report
        self._store = Store(folder)
        self._settings: RunSettings | None = None
        self._format = 1
        self._purpose = ""
        self._calibrations: dict[str, Calibration] = {}
        self._trials: list[AnyTrial] = []
        self._confirmations: dict[int, Confirmation] = {}
        self._results: dict[str, AnyResult] = {}
        self._seen: set[str] = set()
        self._pruned: set[str] = set()
        self._unsound: dict[str, str] = {}
        self._where = ""
        self._artifacts: set[str] = set()
        self._study = StudyAudit(folder)
        self._rewards = RewardAudit(self._store, self._trials, self._blob)
        self._places, self._outcomes = PlaceAudit(folder), OutcomeAudit(self._trials, self._calibrations)

    def problems(self) -> Iterator[str]:
        unknown: Counter[str] = Counter()
        for entry in read_entries(self._folder):
            self._where = f"entry {entry.seq} ({entry.kind})"
            kind = ENTRY_KINDS.get(entry.kind)
            if kind is None:
                unknown[entry.kind] += 1
                continue
            try:
                yield from (f"{self._where}: {p}" for p in self._entry(kind.read(entry.body)))
            except (ValidationError, KeyError, TypeError, ValueError, IndexError) as err:
                yield f"{self._where}: is not a well-formed record: {_in_a_line(err)}"
        for name, count in unknown.items():
            self._report.remarks.append(
                f"{count} entries of the kind '{name}' were not read: this version knows none such"
            )
        self._report.figures += self._study.figures + self._rewards.figures
        self._report.remarks += self._places.remarks
        yield from self._unsound_blobs()

    def _entry(self, record: object) -> Iterator[str]:
        match record:
            case Genesis() | OtherGenesis():
                self._settings, self._format = record.settings, record.format
                if isinstance(record, Genesis):
                    self._report.remarks += [f"task {record.task.name}: {text}" for text in record.task.remarks]
                for candidate in record.candidates:
                    self._blob(candidate.source, "candidate source")
                self._purpose = record.purpose
            case SessionPart():
                yield from self._part(record)
            case SessionCall():
                if not 0 <= record.trial < len(self._trials):
                    yield f"names trial {record.trial}, which is not there"
            case Calibration():
                yield from self._calibration(record)
            case FailedTrial() | RejectedTrial() | DuplicateTrial() | MeasuredTrial() | UntimedTrial():
                yield from self._trial(record)
            case Confirmation():
                yield from self._confirmation(record)
            case Published() | Unpublished() | Judged():
                self._results[place_of(record.task, record.dims)] = record
                yield from self._result(record)
            case Listing():
                self._blob(record.text, "listing")
            case Pruned():
                self._pruned |= set(record.blobs)
            case End():
                if any(self._results.get(place_of(r.task, r.dims)) != r for r in record.results):
                    yield "the results at the end are not the ones recorded before"
            case _:
                yield from self._science(record)
        yield from self._study.problems(record)
        yield from self._rewards.problems(record)
        yield from self._places.problems(record)
        yield from self._outcomes.problems(record)

    def _part(self, part: SessionPart) -> Iterator[str]:
        """A session may go on to another task with other settings; in any other run the first entry's hold to its end."""
        if self._purpose != SESSION:
            yield f"changes the settings of a run whose purpose is '{self._purpose}'"
            return
        self._settings = part.settings
        self._report.remarks += [f"task {part.task.name}: {text}" for text in part.task.remarks]

    def _science(self, record: object) -> Iterator[str]:
        for sha, what in audit_science.blobs_of(record).items():
            self._blob(sha, what)
        yield from audit_science.problems_of(record, self._trials)

    def _calibration(self, said: Calibration) -> Iterator[str]:
        self._calibrations[place_of(said.task, said.dims)] = said
        floor, memory, bound = floor_of(said.bytes, said.written, said.flops, Ceilings.recorded(said.ceilings))
        noise = noise_floor(*said.aa)
        for name, got, wanted in (
            ("floor_s", said.floor_s, floor),
            ("memory_floor_s", said.memory_floor_s, memory),
            ("noise_floor", said.noise_floor, noise),
        ):
            yield from self._figure(name, got, wanted)
        if said.bound != bound:
            yield f"says that {said.bound} bounds it, its ceilings say {bound}"
        medians = {name: median(pairs[0]) for name, pairs in said.baselines.items()}
        if min(medians, key=lambda n: medians[n]) != said.fastest:
            yield f"the fastest baseline is not {said.fastest}: {medians}"

    def _trial(self, trial: AnyTrial) -> Iterator[str]:
        self._report.trials += 1
        if trial.trial != len(self._trials):
            yield f"is numbered {trial.trial}, expected {len(self._trials)}"
        self._trials.append(trial)
        self._blob(trial.proposal.source, "source")
        if not isinstance(trial, FailedTrial):
            yield from self._artifact(trial.artifact, trial.dims)
        if isinstance(trial, DuplicateTrial):
            first = self._trials[trial.of] if 0 <= trial.of < trial.trial else trial
            if not isinstance(first, (MeasuredTrial, RejectedTrial)) or first.artifact.id != trial.artifact.id:
                yield f"calls itself a duplicate of trial {trial.of}, which has other machine code"
        if isinstance(trial, UntimedTrial) and trial.status == "verified":
            yield from verified_problems(trial)
        if isinstance(trial, MeasuredTrial):
            yield from trial_problems(trial, self._format)
            yield from self._timing(trial.timing, place_of(trial.task, trial.dims))

    def _confirmation(self, confirmation: Confirmation) -> Iterator[str]:
        if confirmation.trial in self._confirmations:
            yield f"confirms trial {confirmation.trial} a second time"
        self._confirmations[confirmation.trial] = confirmation
        place = place_of(confirmation.task, confirmation.dims)
        trial = self._trials[confirmation.trial]
        if not isinstance(trial, (MeasuredTrial, UntimedTrial)) or place_of(trial.task, trial.dims) != place:
            yield f"confirms trial {confirmation.trial}, which was never measured at this shape"
        else:
            yield from confirmation_problems(trial, confirmation, self._format)
        if confirmation.artifact is not None:
            self._evidence(confirmation.artifact)
            yield from self._abilities(confirmation.artifact)
        verdict, earned = confirmation.verdict, False
        if isinstance(verdict, Passed):
            yield from full_problems(verdict)
        if confirmation.timing is not None:
            self._report.figures += len(FIGURES) + 2
            stage = self._calibrations[place]
            yield from confirmation_timing_problems(confirmation, stage, self._asked(), self._format)
            won = wins(confirmation.timing, stage, self._asked().win_floor)
            earned = confirmation.verdict.status == "passed" and won
        if confirmation.win != earned:
            yield f"says win={confirmation.win}, the rule says {earned}"

    def _asked(self) -> RunSettings:
        if self._settings is None:
            raise ValueError("no settings were recorded before it")
        return self._settings

    def _result(self, said: AnyResult) -> Iterator[str]:
        place = place_of(said.task, said.dims)
        if isinstance(said, Unpublished):
            busy = any(c.busy and place_of(c.task, c.dims) == place for c in self._confirmations.values())
            if said.status != "nothing-verified" and not busy:
                yield f"says '{said.status}' without naming a trial"
            return
        if isinstance(said, Judged):
            yield from self._judged_result(said)
            return
        confirmation = self._confirmations.get(said.trial)
        if confirmation is None:
            yield f"publishes trial {said.trial}, which was never confirmed"
            return
        if (said.status == "better") != confirmation.win:
            yield f"says '{said.status}', the confirmation says win={confirmation.win}"
        if place != place_of(confirmation.task, confirmation.dims):
            yield f"publishes trial {said.trial} for another shape than it was confirmed at"
        if confirmation.timing is not None:
            named = (said.baseline, said.threads, said.win)
            if named != (confirmation.timing.baseline, confirmation.timing.threads, confirmation.win):
                yield f"names {named} as baseline, threads and win; the confirmation says otherwise"
            for name in FIGURES:
                yield from self._figure(name, getattr(said, name), getattr(confirmation.timing, name))
        if isinstance(confirmation.verdict, Passed):
            for name in ("max_abs_err", "max_ulp"):
                yield from self._figure(name, getattr(said, name), getattr(confirmation.verdict, name))

    def _judged_result(self, said: Judged) -> Iterator[str]:
        """What is only verified is a trial that passed in full, at this shape, with these figures."""
        trial = self._trials[said.trial]
        if not isinstance(trial, UntimedTrial) or trial.status != "verified":
            yield f"calls trial {said.trial} verified, which it is not"
            return
        if place_of(said.task, said.dims) != place_of(trial.task, trial.dims):
            yield f"calls trial {said.trial} verified at another shape than it was judged at"
        if (said.cases, said.deterministic) != (trial.verdict.cases, trial.verdict.deterministic):
            yield f"says of trial {said.trial} what its verdict does not say"
        for name in ("max_abs_err", "max_ulp", "budget_ulp"):
            yield from self._figure(name, getattr(said, name), getattr(trial.verdict, name))

    def _timing(self, timing: Timing, place: str) -> Iterator[str]:
        """Every derived number, from the samples and the calibration in force."""
        self._report.figures += len(FIGURES) + 2
        yield from timing_problems(timing, self._calibrations[place])

    def _figure(self, name: str, got: float, wanted: float) -> Iterator[str]:
        self._report.figures += 1
        if problem := figure_problem(name, got, wanted):
            yield problem

    def _artifact(self, artifact: Artifact, dims: Dims) -> Iterator[str]:
        named = digest([dump(artifact), dims])
        if named in self._artifacts:
            return
        self._artifacts.add(named)
        yield from artifact_problems(artifact, dims, self._format)
        self._evidence(artifact)
        yield from self._abilities(artifact)

    def _abilities(self, artifact: Artifact) -> Iterator[str]:
        """What the record says of the machine code, held against the code; one that is missing or changed is told
        elsewhere."""
        if unknown_edition(artifact):
            text = (
                f"lists of abilities by rules {artifact.abilities_edition} were not checked: this version has no such"
            )
            self._report.remarks += [text] if text not in self._report.remarks else []
            return
        if not artifact.abilities_edition:
            return
        try:
            codes = [self._store.get(sha) for sha in dict.fromkeys(part.code for part in artifact.parts.values())]
        except LedgerFault:
            return
        if fault := misstated(artifact, codes):
            yield f"the artifact's abilities: {fault}"

    def _evidence(self, artifact: Artifact) -> None:
        for blob, what in blobs_of(artifact).items():
            self._blob(blob, what)

    def _blob(self, sha: str, what: str) -> None:
        """Look at a blob once. What is wrong with it is told at the end: by then it may prove to have been pruned."""
        if sha in self._seen:
            return
        self._seen.add(sha)
        try:
            self._store.get(sha)
            self._report.blobs += 1
        except LedgerFault as fault:
            self._unsound[sha] = f"{self._where}: {what}: {fault.what}"

    def _unsound_blobs(self) -> Iterator[str]:
        """Blobs that are missing or changed, but for those that the ledger says were let go."""
        for number, trial in enumerate(self._trials):
            if number not in self._confirmations or not isinstance(trial, MeasuredTrial):
                continue
            confirmed = self._confirmations[number].artifact
            named = {trial.proposal.source, *blobs_of(trial.artifact), *(blobs_of(confirmed) if confirmed else ())}
            if self._pruned & named:
                yield f"trial {number} was confirmed, and its source or machine code was pruned"
        for sha, problem in self._unsound.items():
            if sha in self._pruned and not self._store.path(sha).exists():
                self._report.pruned += 1
            else:
                yield problem


def _in_a_line(err: Exception) -> str:
    """What a record lacks, without the lines that a ValidationError spends on it."""
    if isinstance(err, ValidationError):
        first = err.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"{type(err).__name__}: {str(err).splitlines()[0]}"
