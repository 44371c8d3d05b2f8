"""What the page of one trial says: its text and how it differs from its parent's, verdict, samples, machine code."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field

from kernellab.build.abilities import for_review, in_words
from kernellab.core.errors import KlabError
from kernellab.core.records import (
    AnyTrial,
    Artifact,
    Confirmation,
    DuplicateTrial,
    FailedTrial,
    MeasuredTrial,
    Passed,
    Rejected,
    Timing,
)
from kernellab.ledger import kinds
from kernellab.ledger.records import ProfileReport, SanitizerReport
from kernellab.measurement.winning import why_no_win
from kernellab.report.paper.ledger_prefix import LedgerPrefix
from kernellab.search.scientist.notebook import KIND_OF, TESTED, Selected, Tested
from kernellab.view.trial_line import TrialLine, line_of

MOST_SHOWN = 200_000
"""Characters of a text that a page shows."""
_MOST_COMPARED = 4_000


@dataclass(frozen=True)
class Text:
    """`missing`: why there is none. `left_out`: characters that are not shown."""

    shown: str = ""
    missing: str = ""
    left_out: int = 0


@dataclass(frozen=True)
class Parent:
    """`how`: why it counts as the parent. `diff`: lines with their sign, empty where the texts are the same."""

    number: int
    name: str
    how: str
    diff: list[tuple[str, str]] = field(default_factory=list)
    params: list[tuple[str, str, str]] = field(default_factory=list)
    note: str = ""


@dataclass(frozen=True)
class CodeFacts:
    artifact: Artifact
    abilities: str
    review: bool
    listing: Text | None


@dataclass(frozen=True)
class TrialFacts:
    trial: AnyTrial
    line: TrialLine
    entry: int
    previous: int | None
    next: int | None
    verdict: Passed | Rejected | None
    timing: Timing | None
    confirmation: Confirmation | None
    confirmed_line: str
    why_no_win: str
    experiment: Tested | None
    parent: Parent | None
    source: Text
    log: Text | None
    code: CodeFacts | None
    profiles: list[ProfileReport]
    sanitizer: list[SanitizerReport]


def trial_facts(run: LedgerPrefix, number: int) -> TrialFacts:
    trial = run.trial(number)
    confirmation = {c.trial: c for c in run.confirmations}.get(number)
    seq = run.trial_entry(trial.trial)
    line = line_of(trial, confirmation)
    artifact = None if isinstance(trial, FailedTrial) else trial.artifact
    last = len(run.trials) - 1
    return TrialFacts(
        trial=trial, line=line, entry=seq, previous=number - 1 if number else None,
        next=number + 1 if number < last else None, verdict=getattr(trial, "verdict", None),
        timing=trial.timing if isinstance(trial, MeasuredTrial) else None, confirmation=confirmation,
        confirmed_line=line.confirmed, why_no_win=_why_not(run, confirmation), experiment=_experiment(run, number),
        parent=_parent(run, trial, seq), source=_blob(run, trial.proposal.source),
        log=_blob(run, trial.log) if isinstance(trial, FailedTrial) and trial.log else None,
        code=_code(run, artifact) if artifact is not None else None,
        profiles=[p for p in run.records(kinds.PROFILE) if p.trial == number],
        sanitizer=[s for s in run.records(kinds.SANITIZER) if artifact is not None and s.artifact == artifact.id],
    )  # fmt: skip


def _why_not(run: LedgerPrefix, confirmation: Confirmation | None) -> str:
    if confirmation is None or confirmation.win or confirmation.timing is None:
        return ""
    held = [c for c in run.calibrations if (c.task, c.dims) == (confirmation.task, confirmation.dims)]
    return why_no_win(confirmation.timing, held[-1], run.start.settings.win_floor) if held else ""


def _blob(run: LedgerPrefix, sha: str) -> Text:
    try:
        whole = run.store.get(sha).decode(errors="replace")
    except KlabError as fault:
        return Text(missing=fault.what)
    return Text(whole[:MOST_SHOWN], "", max(0, len(whole) - MOST_SHOWN))


def _code(run: LedgerPrefix, artifact: Artifact) -> CodeFacts:
    listed = artifact.abilities if artifact.abilities_edition else None
    text = next((entry.text for entry in run.records(kinds.LISTING) if entry.artifact == artifact.id), None)
    listing = _blob(run, text) if text is not None else None
    return CodeFacts(artifact, in_words(listed), bool(for_review(listed or ())), listing)


def _experiment(run: LedgerPrefix, number: int) -> Tested | None:
    return next((t for t in run.records(TESTED) if number in t.trials), None)


def _parent(run: LedgerPrefix, trial: AnyTrial, seq: int) -> Parent | None:
    """The base of its experiment; else what it repeats; else the trial of the same candidate before it."""
    number, how = _whose(run, trial, seq)
    if number is None or not 0 <= number < len(run.trials) or number == trial.trial:
        return None
    other = run.trials[number]
    diff, note = _diff(run, other.proposal.source, trial.proposal.source)
    names = sorted({*other.proposal.params, *trial.proposal.params})
    pairs = [(n, str(other.proposal.params.get(n, "-")), str(trial.proposal.params.get(n, "-"))) for n in names]
    return Parent(number, other.proposal.name, how, diff, [p for p in pairs if p[1] != p[2]], note)


def _whose(run: LedgerPrefix, trial: AnyTrial, seq: int) -> tuple[int | None, str]:
    tested = _experiment(run, trial.trial)
    if tested is not None and tested.base is not None:
        return tested.base, f"the base of experiment {tested.number} of generation {tested.generation}"
    if trial.proposal.origin == "llm":
        chosen = [e.record for e in run.of(KIND_OF[Selected]) if e.seq < seq]
        if chosen:
            return chosen[-1].base, f"the base that generation {chosen[-1].generation} chose"
    if isinstance(trial, DuplicateTrial):
        return trial.of, "the same machine code"
    before = [t.trial for t in run.trials[: trial.trial] if t.proposal.name == trial.proposal.name]
    return (before[-1], "the trial of this candidate before it") if before else (None, "")


def _diff(run: LedgerPrefix, old: str, new: str) -> tuple[list[tuple[str, str]], str]:
    if old == new:
        return [], "the same text, with other parameters"
    a, b = _blob(run, old), _blob(run, new)
    if missing := a.missing or b.missing:
        return [], missing
    before, after = a.shown.splitlines(), b.shown.splitlines()
    if max(len(before), len(after)) > _MOST_COMPARED or a.left_out or b.left_out:
        return [], f"too long to compare on a page: more than {_MOST_COMPARED} lines or {MOST_SHOWN} characters"
    found = difflib.unified_diff(before, after, "parent", "this trial", lineterm="", n=3)
    return [(line[:1], line) for line in found][2:], ""
