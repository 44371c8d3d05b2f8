"""What a template may say: marks for claims, and yes-or-no facts to choose words by. Nothing here is not in the ledger."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kernellab.core.records import FailedTrial, MeasuredTrial, Passed
from kernellab.core.targets import languages, platforms
from kernellab.ledger import kinds
from kernellab.ledger.records import Published
from kernellab.propose.models.journal import CALL
from kernellab.report.paper.claims import ClaimBook
from kernellab.report.paper.figures import best_trial, published
from kernellab.report.paper.ledger_prefix import LedgerPrefix, Shape
from kernellab.studies.evidence import BORROWED
from kernellab.studies.judgement import VERDICT
from kernellab.studies.registration import STUDY, Registration

_SLOW_S = 0.1
_STUDY = {"study": ("id", "rule"), "verdict": ("verdict",)}
_QUOTED = ("title", "claim", "prediction")  # what the author of a hypothesis wrote


@dataclass(frozen=True)
class Confirmed:
    """A published kernel's figures, as marks."""

    kernel: str
    params: str
    trial: str
    entry: str
    latency: str
    baseline_latency: str
    gbps: str
    ratio: str
    low: str
    high: str
    of_floor: str
    floor: str
    baseline: str
    error: str
    ulp: str
    budget: str
    cases: str
    pairs: str
    dropped: str
    checked: str
    bytes: str
    ceiling: str
    arithmetic: str
    bound: str
    noise: str
    threshold: str
    win: bool
    deterministic: bool
    seq: int
    calibration: int


@dataclass(frozen=True)
class ShapeFacts:
    index: int
    label: str
    shape: Shape
    status: str
    reason: str
    confirmed: Confirmed | None
    best: int | None
    lineage: tuple[int, ...]


@dataclass
class Facts:
    task: str
    run: str
    device: str
    started: str
    root: str
    size: str
    environment: str
    tier: str
    trusts: tuple[str, ...]
    purpose: str
    ended: bool
    unit: str
    shapes: list[ShapeFacts]
    counts: dict[str, str] = field(default_factory=dict)
    s: dict[str, str] = field(default_factory=dict)
    has: dict[str, bool] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)

    @property
    def published(self) -> list[Confirmed]:
        return [s.confirmed for s in self.shapes if s.confirmed]

    @property
    def headline(self) -> ShapeFacts | None:
        """The published shape with the best lower bound."""
        return next((s for s in self.shapes if s.index == self._headline), None)

    _headline: int = -1


def gather(book: ClaimBook) -> Facts:
    ev = book.evidence
    unit = "ms" if _slow(ev) else "us"
    shapes = [_shape(book, number, shape, unit) for number, shape in enumerate(ev.shapes)]
    trusts = sorted({str(trial.trust) for trial in ev.trials if isinstance(trial, MeasuredTrial)})
    facts = Facts(
        task=book.field(0, "task.name", "code"),
        run=book.mint("run", [0], "code"),
        device=book.field(0, "environment.device"),
        started=book.mint("time", [0], "words"),
        root=book.mint("root", list(range(ev.size)), "code"),
        size=book.mint("size", [], "whole"),
        environment=book.field(0, "environment.digest", "code"),
        tier=book.field(0, "environment.tier"),
        trusts=tuple(trusts),
        purpose=ev.genesis.purpose,
        ended=ev.ended,
        unit={"us": "µs", "ms": "ms"}[unit],
        shapes=shapes,
    )
    facts._headline = _headline(ev, shapes)
    facts.counts = _counts(book)
    facts.s = {name: "" if book.value(mark) == 1 else "s" for name, mark in facts.counts.items()}
    facts.has = _has(ev)
    facts.marks = _marks(book, facts)
    return facts


def _shape(book: ClaimBook, number: int, shape: Shape, unit: str) -> ShapeFacts:
    ev = book.evidence
    first = shape.calibration if shape.calibration is not None else shape.trials[0] if shape.trials else None
    where, path = (0, f"shapes.{number}") if first is None else (first, "dims")
    label = book.mint("shape", [where], "words", path=path)
    found = published(ev, shape)
    status, reason = "no result is recorded", ""
    if shape.result is not None:
        status = str(ev.at(kinds.RESULT, shape.result).status)
        reason = book.field(shape.result, "reason", "quote")
    return ShapeFacts(
        index=number, label=label, shape=shape, status=status, reason=reason,
        confirmed=_confirmed(book, shape, *found, unit) if found else None,
        best=best_trial(ev, shape), lineage=lineage(ev, shape),
    )  # fmt: skip


def _confirmed(book: ClaimBook, shape: Shape, confirmation: int, calibration: int, unit: str) -> Confirmed:
    ev = book.evidence
    confirmed = ev.at(kinds.CONFIRMATION, confirmation)
    verdict, trial = confirmed.verdict, ev.trial_entry(confirmed.trial)
    about = f"{shape.task} {shape.label}"

    def claim(formula: str, form: str, *seqs: int, **args: Any) -> str:
        return book.mint(formula, seqs, form, about, **args)

    return Confirmed(
        kernel=book.field(trial, "proposal.name", "code"),
        params=claim("params", "code", trial),
        trial=book.field(trial, "trial", "id"),
        entry=claim("entry", "id", confirmation),
        latency=claim("latency", unit, confirmation),
        baseline_latency=claim("baseline_latency", unit, confirmation),
        gbps=claim("bandwidth", "gbps", calibration, confirmation),
        ratio=claim("ratio", "ratio", confirmation),
        low=claim("ratio_low", "ratio", confirmation),
        high=claim("ratio_high", "ratio", confirmation),
        of_floor=claim("of_floor", "percent", calibration, confirmation),
        floor=claim("floor", unit, calibration),
        baseline=book.field(confirmation, "timing.baseline", "code"),
        error=claim("field", "error", confirmation, path="verdict.max_abs_err"),
        ulp=claim("field", "ulp", confirmation, path="verdict.max_ulp"),
        budget=claim("field", "ulp", confirmation, path="verdict.budget_ulp"),
        cases=claim("field", "whole", confirmation, path="verdict.cases"),
        pairs=claim("pairs", "whole", confirmation),
        dropped=claim("dropped", "whole", confirmation),
        checked=claim("field", "whole", confirmation, path="timing.checked"),
        bytes=claim("field", "whole", calibration, path="bytes"),
        ceiling=claim("copy_ceiling", "gbps", calibration),
        arithmetic=claim("flops_ceiling", "gflops", calibration),
        bound=book.field(calibration, "bound"),
        noise=claim("noise", "percent2+", calibration),
        threshold=claim("threshold", "ratio", 0, calibration),
        win=confirmed.win,
        deterministic=isinstance(verdict, Passed) and verdict.deterministic,
        seq=confirmation,
        calibration=calibration,
    )


def lineage(ev: LedgerPrefix, shape: Shape) -> tuple[int, ...]:
    """Trials that each beat, by their lower bound, all before them, up to the published one."""
    best = best_trial(ev, shape)
    if best is None:
        return ()
    chain: list[int] = []
    reached = 0.0
    for seq in shape.trials:
        if seq > best:
            break
        timing = ev.timings.get(seq)
        if timing is not None and (timing.speedup_low > reached or seq == best):
            reached = max(reached, timing.speedup_low)
            chain.append(seq)
    return tuple(chain)


def _headline(ev: LedgerPrefix, shapes: list[ShapeFacts]) -> int:
    held = [(ev.timings[s.confirmed.seq].speedup_low, s.index) for s in shapes if s.confirmed]
    if held:
        return int(max(held)[1])
    return next((s.index for s in shapes if s.best is not None), -1)


def _counts(book: ClaimBook) -> dict[str, str]:
    statuses = ("measured", "rejected", "invalid", "build-failed", "duplicate", "busy")
    counts = {status.replace("-", "_"): book.count("trial", {"status": status}) for status in statuses}
    counts["trials"] = book.count("trial")
    counts["confirmations"] = book.count("confirmation")
    counts["shapes"] = book.mint("shapes", [], "whole")
    results = [s.result for s in book.evidence.shapes if s.result is not None]
    counts["wins"] = book.mint("wins", results, "whole")
    for origin in ("recipe", "llm", "user", "warm-start", "replay"):
        counts[f"origin_{origin.replace('-', '_')}"] = book.count("trial", {"proposal.origin": origin})
    return counts


def _has(ev: LedgerPrefix) -> dict[str, bool]:
    statuses = Counter(str(trial.status) for trial in ev.trials)
    origins = {trial.proposal.origin for trial in ev.trials}
    written = {trial.artifact.backend for trial in ev.trials if not isinstance(trial, FailedTrial)}
    asked = ev.genesis
    return {
        "rejected": bool(statuses["rejected"]),
        "failed": bool(statuses["invalid"] or statuses["build-failed"]),
        "invalid": bool(statuses["invalid"]),
        "build_failed": bool(statuses["build-failed"]),
        "duplicate": bool(statuses["duplicate"]),
        "measured": bool(statuses["measured"]),
        "confirmations": bool(ev.confirmations),
        "missing": bool(asked.missing_baselines),
        "profile": bool(ev.of(kinds.PROFILE)),
        "sanitizer": bool(ev.of(kinds.SANITIZER)),
        "gpu": asked.settings.device in {known.kind for known in platforms() if known.accelerator},
        "pruned": bool(ev.of(kinds.PRUNED)),
        "resumed": bool(ev.of(kinds.RESUME)),
        "adopted": bool(ev.of(kinds.ADOPTED)),
        "models": bool(ev.of(CALL)),
        "llm": "llm" in origins,
        "user": "user" in origins,
        "warm": "warm-start" in origins,
        "dropped": any(timing.dropped for timing in ev.timings.values()),
        "disturbed": any(timing.disturbed for timing in ev.timings.values()),
        "recipe": "recipe" in origins or "warm-start" in origins,
        "study": bool(ev.of(STUDY)),
        "borrowed": bool(ev.of(BORROWED)),
        "sandbox": asked.environment.tier != "T0",
        "fixed": bool(asked.params),
        "negative": _negative(ev, statuses),
        "study_verdict": bool(ev.of(VERDICT)),
        "softmax": "softmax" in asked.task.name,
        "sampled": asked.settings.sampled,
        "gp": asked.settings.sampled and asked.settings.sampler == "gp",
        "tpe": asked.settings.sampled and asked.settings.sampler == "tpe",
        **{found.name: found.name in written for found in languages() if found.cited},
        "unfinished_shapes": any(s.result is None for s in ev.shapes),
    }  # fmt: skip


def _negative(ev: LedgerPrefix, statuses: Counter[str]) -> bool:
    """Whether there is anything that did not work out: trials, shapes, hypotheses."""
    return (
        any(statuses[s] for s in ("rejected", "invalid", "build-failed"))
        or any(not isinstance(result, Published) or not result.win for result in ev.records(kinds.RESULT))
        or any(judged.verdict != "confirmed" for judged in ev.records(VERDICT))
    )


def _marks(book: ClaimBook, facts: Facts) -> dict[str, str]:
    """Single figures for the prose."""
    ev = book.evidence
    marks = {
        "level": book.constant("level", "level"),
        "float64": book.constant("float64"),
        "sha": book.constant("hash"),
        "ed": book.constant("signature"),
        "wall": book.mint("elapsed", [0, _last(ev)], "seconds+"),
        "effort": book.field(0, "settings.effort"),
        "seed": book.field(0, "settings.seed", "id"),
        "sampler": book.field(0, "settings.sampler"),
        "win_floor": book.field(0, "settings.win_floor", "number"),
        "recipes": book.mint("distinct", ev.matching("trial", {}), "whole", kind="trial", path="proposal.name"),
    }
    for name, entries in (("study", ev.of(STUDY)), ("verdict", ev.of(VERDICT))):
        for entry in entries[-1:]:
            marks |= {f"{name}_{k}": book.field(entry.seq, k) for k in _STUDY[name]}
            if name == "study":
                marks |= {f"study_{k}": book.field(entry.seq, k, "quote") for k in _QUOTED}
                if isinstance(entry.record, Registration) and entry.record.earlier:
                    marks["study_earlier"] = book.mint("listed", [entry.seq], "words", path="earlier")
    if timed := sorted(ev.timings):
        marks["dropped"] = book.mint("dropped", timed, "whole")
    held = [c.seq for c in facts.published]
    if held:
        for which in ("min", "max"):
            marks[f"{which}_ratio"] = book.mint("extreme", held, "number3", of="ratio", which=which)
    return marks


def _last(ev: LedgerPrefix) -> int:
    """The entry at which the search ended: what was appended afterwards took no time of it."""
    ends = [e.seq for e in ev.of(kinds.END)]
    return ends[-1] if ends else ev.size - 1


def _slow(ev: LedgerPrefix) -> bool:
    latencies = [c.timing.latency_s for c in ev.confirmations if c.timing is not None]
    return bool(latencies) and max(latencies) >= _SLOW_S
