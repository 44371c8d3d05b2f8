"""contrastive_select(), best() and explain(): what run folders already know, for whoever writes the next kernel."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.records import AnyTrial, Confirmation, MeasuredTrial, Passed, UntimedTrial
from kernellab.ledger import kinds
from kernellab.ledger.check import require_sound
from kernellab.ledger.records import Published
from kernellab.ledger.run import Run, place_of, well_formed
from kernellab.ledger.session_records import PURPOSE as SESSION
from kernellab.propose.prompts.withhold import without_paths
from kernellab.search.experiment_run import task_of
from kernellab.search.memory import select
from kernellab.search.memory.contrast import contrast
from kernellab.search.memory.select import Exemplar, Scheme
from kernellab.search.memory.specimen import Specimen, reader_of, recall
from kernellab.search.reasons import reason_of
from kernellab.tasks.spec import dims_label, in_order
from kernellab.tools.records import BestList, BestRow, Chosen, Exemplars, Explanation

MOST = 16
_CONTRAST_TOKENS = 160
_PUBLISHED = {"task", "status", "speedup", "speedup_low", "speedup_high", "baseline", "trial"}


def contrastive_select(
    db: str | Path, n: int = 4, scheme: Scheme = "bucket", tau: float = select.TAU, *, seed: int = 0
) -> Exemplars:
    """At most `n` trials of a run that teach the most side by side. The same seed chooses the same ones."""
    if not 1 <= n <= MOST:
        raise UsageError(f"{n} exemplars cannot be shown", f"ask for 1 to {MOST}")
    if math.isinf(tau):
        raise UsageError(f"a tau of {tau} cannot be recorded", "give a finite tau from 0 on; 1000 draws evenly")
    folder = Path(db)
    require_sound(folder)
    run = Run(folder)
    trials = _tried_once(run)
    read = reader_of(run.store)
    try:
        found = select.contrastive_select(trials, n, scheme, tau, random.Random(seed), read) if trials else []
    except ValueError as err:
        raise UsageError(str(err), "give a tau from 0 on") from None
    chosen = tuple(_chosen(e).model_copy(update=_ids(run, e.specimen.number)) for e in found)
    return Exemplars(run=folder.name, scheme=scheme, tau=tau, trials=len(trials), chosen=chosen)


def best(folders: Sequence[Path], task: str = "") -> BestList:
    """The best confirmed kernel for every task and shape; figures without a confirmation are no claim and not here."""
    found: dict[tuple[str, str], BestRow] = {}
    without = []
    for folder in folders:
        try:
            require_sound(folder)
            with well_formed(folder):
                rows = [row for row in _confirmed_rows(folder) if task in ("", row.task)]
        except (LedgerFault, UsageError):  # damaged, or of another version's task: nothing in it is a claim here
            rows = []
        without += [] if rows else [folder.name]
        for row in rows:
            place = (row.task, row.shape)
            if place not in found or _rank(row) > _rank(found[place]):
                found[place] = row
    return BestList(rows=tuple(sorted(found.values(), key=lambda r: (r.task, r.shape))), unconfirmed=tuple(without))


def explain(run: str | Path, trial: int | str | None = None) -> Explanation:
    """One trial in words: by its number, or the last one of a kernel's or an artifact's id; without either the confirmed
    best, or the last one."""
    folder = Path(run)
    ledger = require_sound(folder)
    found = Run(folder)
    if not found.trials:
        raise UsageError(f"run {folder.name} holds no trials", "klab resume goes on with a run that was cut")
    trials, confirmed = found.trials, {c.trial: c for c in found.confirmations}
    number = _number(found, trial)
    if not 0 <= number < len(trials):
        raise UsageError(f"run {folder.name} has no trial {number}", f"it has trials 0 to {len(trials) - 1}")
    specimens = recall(trials, reader_of(found.store))
    chosen = specimens[number]
    top = _best_beside(specimens, chosen)
    words = [
        *_what(chosen),
        *_verdict(chosen, confirmed.get(number)),
        *_time(chosen, confirmed.get(number), found),
        *_resources(chosen, found),
    ]
    if top is not None and top.number != number:
        words.append(f"beside trial {top.number}, the fastest here: {_beside(chosen, top)}")
    return Explanation(
        run=folder.name, trial=number, status=chosen.trial.status, words=tuple(words),
        best=top.number if top is not None else None, ledger_root=ledger.root, **_ids(found, number),
    )  # fmt: skip


def _tried_once(run: Run) -> list[AnyTrial]:
    """Without verdicts on what was timed as well: the timed trial says more."""
    timed = {_text_of(t) for t in run.trials if isinstance(t, MeasuredTrial)}
    return [
        t for t in run.trials if not (isinstance(t, UntimedTrial) and t.status == "verified" and _text_of(t) in timed)
    ]


def _text_of(trial: AnyTrial) -> str:
    return f"{trial.proposal.source} {sorted(trial.proposal.params.items())} {place_of(trial.task, trial.dims)}"


def _ids(run: Run, trial: int) -> dict[str, str]:
    """The names by which the tools know a trial's kernel and artifact, where they made it."""
    call = run.calls.get(trial)
    return {"kernel": call.kernel, "artifact": call.artifact} if call else {}


def _number(run: Run, named: int | str | None) -> int:
    """A trial by its number, or the last one of a kernel or an artifact; the confirmed best where none is named."""
    if named is None or named == "":
        return _headline(run)
    if isinstance(named, int):
        return named
    found = [trial for trial, call in run.calls.items() if named in (call.kernel, call.artifact)]
    if not found:
        known = ", ".join(dict.fromkeys(call.artifact for call in run.calls.values()))
        raise UsageError(f"'{named[:80]}' was neither verified nor benchmarked in {run.folder.name}",
                         f"name one of {known}" if known else "give the number of a trial")  # fmt: skip
    return found[-1]


def _chosen(exemplar: Exemplar) -> Chosen:
    specimen, beside = exemplar.specimen, exemplar.beside
    timing, proposal = specimen.timing, specimen.trial.proposal
    why = exemplar.why.replace(specimen.reason, _told(specimen).reason) if specimen.reason else exemplar.why
    return Chosen(
        trial=specimen.number, name=proposal.name, params=dict(proposal.params), bucket=exemplar.bucket,
        island=exemplar.island, speedup=(timing.speedup, timing.speedup_low, timing.speedup_high) if timing else None,
        why=why, beside=beside.number if beside else None, contrast=_beside(specimen, beside) if beside else "",
    )  # fmt: skip


def _beside(a: Specimen, b: Specimen) -> str:
    return contrast(_told(a), _told(b)).text(_CONTRAST_TOKENS)


def _told(specimen: Specimen) -> Specimen:
    """With the reason that a caller may read."""
    return replace(specimen, reason=reason_of(specimen.trial, specimen.source))


def _confirmed_rows(folder: Path) -> list[BestRow]:
    """A run's results that rest on a confirmation: the last one for each shape; of a session, each call's."""
    run = Run(folder)
    results = run.records(kinds.RESULT) if run.purpose == SESSION else run.results
    rows = []
    for result in results:
        if isinstance(result, Published):
            task, _ = task_of(folder, result.trial)
            proposal, shape = run.trials[result.trial].proposal, dims_label(in_order(result.dims, task))
            figures = {**result.model_dump(include=_PUBLISHED), **_ids(run, result.trial)}
            rows.append(
                BestRow(**figures, shape=shape, run=folder.name, name=proposal.name, params=dict(proposal.params))
            )
    return rows


def _rank(row: BestRow) -> tuple[bool, float]:
    return row.status == "better", row.speedup_low


def _headline(run: Run) -> int:
    named = [result.trial for result in run.records(kinds.RESULT) if isinstance(result, Published)]
    return named[-1] if named else run.trials[-1].trial


def _best_beside(specimens: Sequence[Specimen], chosen: Specimen) -> Specimen | None:
    """The fastest measured one at the same task, shape and device."""
    here = [s for s in specimens if s.arena[:3] == chosen.arena[:3] and isinstance(s.trial, MeasuredTrial)]
    return max(here, key=lambda s: s.spread[0], default=None)


def _what(chosen: Specimen) -> list[str]:
    trial = chosen.trial
    params = " ".join(f"{k}={v}" for k, v in trial.proposal.params.items()) or "no parameters"
    why = trial.proposal.why
    place = f"{trial.task} {dims_label(trial.dims)} on {trial.device}"
    return [
        f"trial {trial.trial}: {trial.proposal.name} ({params}) for {place}",
        *([f"tried because: {why}"] if why else []),
    ]


def _verdict(chosen: Specimen, confirmation: Confirmation | None) -> list[str]:
    trial = chosen.trial
    if isinstance(trial, UntimedTrial) and trial.status == "verified":
        return [f"verdict: passed in full, held-out shapes included: {_passed(trial.verdict)}", "time: not measured"]
    if not isinstance(trial, MeasuredTrial):
        return [f"verdict: {reason_of(trial, chosen.source)}"]
    words = [f"verdict: passed {_passed(trial.verdict)}"]
    if confirmation is None:
        return [*words, "not confirmed: only the most promising trials are judged in full, so its figures are no claim"]
    verdict = confirmation.verdict
    if isinstance(verdict, Passed):
        return [*words, f"confirmed in a fresh process on fresh inputs, held-out shapes included: {_passed(verdict)}"]
    return [*words, f"the confirmation rejected it: {verdict.cause}: {without_paths(verdict.reason)}"]


def _passed(verdict: Passed) -> str:
    again = "the same bits again" if verdict.deterministic else "other bits when run again, all right"
    return f"{verdict.cases} cases, error up to {verdict.max_ulp:.3g} ULP of {verdict.budget_ulp:.3g} allowed, {again}"


def _time(chosen: Specimen, confirmation: Confirmation | None, run: Run) -> list[str]:
    """The confirmation's clock where there is one: a trial's is for ranking."""
    timing = confirmation.timing if confirmation is not None and confirmation.timing is not None else chosen.timing
    if timing is None:
        return []
    place = place_of(chosen.trial.task, chosen.trial.dims)
    bounds = [c.bound for c in run.calibrations if place_of(c.task, c.dims) == place]
    bound = bounds[-1] if bounds else "memory"
    near = "near it" if timing.of_floor > 0.8 else "half of it or better" if timing.of_floor > 0.5 else "far from it"
    return [
        f"time: {_duration(timing.latency_s)} a call, {timing.speedup:.3f}x of {timing.baseline} "
        f"[{timing.speedup_low:.3f}, {timing.speedup_high:.3f}], {timing.gb_per_s:.4g} GB/s, {timing.threads} thread(s)",
        f"bound: this shape is bound by {bound}; the machine's ceilings allow {_duration(timing.floor_s)}, "
        f"and the kernel reaches {100 * timing.of_floor:.0f} % of it: {near}",
    ]  # fmt: skip


def _resources(chosen: Specimen, run: Run) -> list[str]:
    """What the compiler says that it uses, and what counters said of it where somebody read them."""
    trial = chosen.trial
    used = getattr(getattr(trial, "artifact", None), "resources", {})
    words = [f"uses: {', '.join(f'{name} {value}' for name, value in used.items())}"] if used else []
    profiles = [p for p in run.records(kinds.PROFILE) if p.trial == trial.trial]
    return words + [without_paths(line) for p in profiles for line in p.lines]


def _duration(seconds: float) -> str:
    return f"{seconds * 1e6:.4g} us" if seconds < 1e-3 else f"{seconds * 1e3:.4g} ms"
