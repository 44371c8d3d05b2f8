"""The data behind each figure: rows that follow from the ledger by a named formula, as the numbers of the text do.

A row names the entry it comes from, so a point in a drawing leads back to a line of the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernellab.core.ids import canonical_json, sha256_hex
from kernellab.core.records import MeasuredTrial, Timing
from kernellab.ledger import kinds
from kernellab.measurement.stats import median, paired_speedup
from kernellab.report.paper.ledger_prefix import LedgerPrefix, Shape

Row = dict[str, Any]
Rows = list[Row]
_STATES = {"measured": "measured", "rejected": "rejected", "invalid": "failed", "build-failed": "failed"}
_HEADROOM = 1.08
_RATIO_DIGITS = 6


def rows_of(formula: str, evidence: LedgerPrefix, args: Mapping[str, Any]) -> Rows:
    if formula not in ROWS:
        raise ValueError(f"there is no figure '{formula}'")
    return ROWS[formula](evidence, args)


def digest_of(rows: Rows) -> str:
    return sha256_hex(canonical_json(rows))


def shape_at(evidence: LedgerPrefix, args: Mapping[str, Any]) -> Shape:
    return evidence.shapes[int(args["shape"])]


def convergence(evidence: LedgerPrefix, args: Mapping[str, Any]) -> Rows:
    """One row a trial in order; what has no latency stands above all that have. Then the fastest baseline and the floor."""
    shape = shape_at(evidence, args)
    measured = {s: _us(median(timing.candidate_s)) for s, timing in _timed(evidence, shape).items()}
    if not measured or shape.calibration is None:
        return []
    calibration = evidence.at(kinds.CALIBRATION, shape.calibration)
    baseline = _us(median(calibration.baselines[calibration.fastest][0]))
    top = _digits(max(*measured.values(), baseline) * _HEADROOM)
    rows, best = [], None
    for seq in shape.trials:
        trial = evidence.trial_at(seq)
        state = _STATES.get(trial.status)
        if state is None:
            continue
        latency = measured.get(seq)
        if latency is not None and (best is None or latency < best):
            best = latency
        row: Row = {
            "entry": seq,
            "number": trial.trial,
            "state": state,
            "us": top if latency is None else latency,
        }
        rows.append(row if best is None else {**row, "best": best})
    rows.append({"entry": shape.calibration, "state": "baseline as calibrated", "line": baseline})
    rows.append({"entry": shape.calibration, "state": "floor", "line": _us(calibration.floor_s)})
    return rows


def roofline(evidence: LedgerPrefix, args: Mapping[str, Any]) -> Rows:
    """Best confirmed kernel and its baseline for each shape, under the highest ceilings that the run measured."""
    rows: Rows = []
    for shape in evidence.shapes:
        found = published(evidence, shape)
        if found is None:
            continue
        confirmation, calibration = found
        said, timing = evidence.at(kinds.CALIBRATION, calibration), evidence.timings[confirmation]
        if said.flops <= 0:
            return []
        for kind, samples in (("best kernel", timing.candidate_s), ("fastest baseline", timing.baseline_s)):
            rows.append({
                "entry": confirmation, "kind": kind, "shape": shape.label,
                "intensity": _digits(said.flops / said.bytes),
                "gflops": _digits(said.flops / median(samples) / 1e9),
            })  # fmt: skip
    if not rows:
        return []
    ceilings = [(e.seq, e.record.ceilings) for e in evidence.of(kinds.CALIBRATION)]
    entry, copy = max(((s, c.copy) for s, c in ceilings), key=lambda p: p[1])
    flops = max(c.flops for _, c in ceilings)
    ridge = flops / copy
    low = min(min(r["intensity"] for r in rows) / 4, ridge / 4)
    high = max(max(r["intensity"] for r in rows) * 4, ridge * 4)
    for intensity in (low, ridge, high):
        attainable = min(intensity * copy, flops) / 1e9
        rows.append({"entry": entry, "kind": "ceiling", "intensity": _digits(intensity), "gflops": _digits(attainable)})
    return rows


def sweep(evidence: LedgerPrefix, args: Mapping[str, Any]) -> Rows:
    """Every measured trial of the best kernel's recipe at one shape, once for each parameter that was varied."""
    shape = shape_at(evidence, args)
    best = best_trial(evidence, shape)
    if best is None:
        return []
    tried = {s: evidence.trial_at(s).proposal for s in (*_timed(evidence, shape), best)}
    trials = [s for s in _timed(evidence, shape) if tried[s].source == tried[best].source]
    rows: Rows = []
    for name in sorted(tried[best].params):
        values = {str(tried[s].params.get(name)) for s in trials}
        if len(values) < 2:
            continue
        for seq in trials:
            timing = evidence.timings[seq]
            rows.append({
                "entry": seq, "parameter": name, "value": str(tried[seq].params.get(name)),
                "ratio": round(paired_speedup(timing.candidate_s, timing.baseline_s).value, _RATIO_DIGITS),
                "best": seq == best,
            })  # fmt: skip
    return rows


ROWS: dict[str, Callable[[LedgerPrefix, Mapping[str, Any]], Rows]] = {
    "convergence": convergence,
    "roofline": roofline,
    "sweep": sweep,
}


def published(evidence: LedgerPrefix, shape: Shape) -> tuple[int, int] | None:
    """The confirmation that a shape's result names, and its calibration."""
    number = evidence.at(kinds.RESULT, shape.result).trial if shape.result is not None else None
    if number is None or number not in shape.confirmed:
        return None
    confirmation, calibration = shape.confirmed[number]
    if calibration is None or confirmation not in evidence.timings:
        return None
    return confirmation, calibration


def best_trial(evidence: LedgerPrefix, shape: Shape) -> int | None:
    """The published trial's entry; before there is one, the measured trial with the best lower bound."""
    if (found := published(evidence, shape)) is not None:
        return evidence.trial_entry(evidence.at(kinds.CONFIRMATION, found[0]).trial)
    timed = _timed(evidence, shape)
    return max(timed, key=lambda s: timed[s].speedup_low, default=None)


def _timed(evidence: LedgerPrefix, shape: Shape) -> dict[int, Timing]:
    """The measured trials of a shape, by their entries."""
    found = ((seq, evidence.trial_at(seq)) for seq in shape.trials)
    return {seq: trial.timing for seq, trial in found if isinstance(trial, MeasuredTrial)}


def _us(seconds: float) -> float:
    return _digits(seconds * 1e6)


def _digits(value: float) -> float:
    """Seven figures are more than a drawing shows, and keep the file small."""
    return float(f"{value:.7g}")
