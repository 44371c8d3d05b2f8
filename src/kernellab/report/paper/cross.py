"""Claims held against each other, as a reader with a calculator would: printed figures that cannot be true together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kernellab.measurement.bench import TOO_GOOD
from kernellab.report.paper.claims import Claim
from kernellab.report.paper.ledger_prefix import LedgerPrefix, unspan
from kernellab.report.printed import Span, exactly, span_of

_SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}
_STATUSES = 5  # papers made before trials could be busy count so many


def contradictions(claims: Sequence[Claim], evidence: LedgerPrefix) -> Iterator[str]:
    groups: dict[str, dict[str, Claim]] = {}
    for claim in claims:
        if claim.about:
            groups.setdefault(claim.about, {})[_key(claim)] = claim
    for about, group in groups.items():
        for problem in _group(group, evidence):
            yield f"{about}: {problem}"
    yield from _counts(claims)


def _key(claim: Claim) -> str:
    return str(claim.args["path"]) if claim.formula == "field" else claim.formula


def _group(group: Mapping[str, Claim], evidence: LedgerPrefix) -> Iterator[str]:
    latency, baseline = _time(group, "latency"), _time(group, "baseline_latency")
    rate, moved, floor = _number(group, "bandwidth"), _number(group, "bytes"), _time(group, "floor")
    if latency and rate and moved and not latency.times(rate).scaled(1e9).meets(moved):
        yield "latency x GB/s is not the bytes moved"
    share = _number(group, "of_floor")
    if latency and floor and share and not floor.over(latency).scaled(100).meets(share):
        yield "the share of the floor is not floor / latency"
    if latency and floor and latency.high < TOO_GOOD * floor.low:
        yield "the latency lies below what the ceilings allow"
    ratio, low, high = (_number(group, name) for name in ("ratio", "ratio_low", "ratio_high"))
    if ratio and low and high and not (low.low <= ratio.high and ratio.low <= high.high):
        yield "the ratio lies outside of its interval"
    if latency and baseline and "ratio" in group:
        yield from _quotient(group["ratio"], baseline.over(latency), evidence)
    error, budget = _number(group, "verdict.max_ulp"), _number(group, "verdict.budget_ulp")
    if error and budget and error.low > budget.high:
        yield "the error exceeds its budget"
    sources = {
        c.entries for name, c in group.items() if name in ("latency", "ratio", "ratio_low", "ratio_high", "pairs")
    }
    if len(sources) > 1:
        yield "latency, ratio and number of pairs come from different entries"


def _quotient(ratio: Claim, quotient: Span, evidence: LedgerPrefix) -> Iterator[str]:
    """A median of ratios need not be the ratio of medians; but that one lies between the smallest and largest pair."""
    timing = evidence.timings[unspan(ratio.entries)[0]]
    pairs = [b / c for c, b in zip(timing.candidate_s, timing.baseline_s, strict=True)]
    if not quotient.meets(Span(min(pairs), max(pairs))):
        yield "the quotient of the latencies lies outside of all paired ratios"


def _counts(claims: Sequence[Claim]) -> Iterator[str]:
    """Trials of all statuses make all trials."""
    trials = {str(c.args["where"].get("status", "")): c.value for c in claims
              if c.formula == "count" and c.args.get("kind") == "trial" and set(c.args["where"]) <= {"status"}}  # fmt: skip
    whole = trials.pop("", None)
    parts = [v for v in trials.values() if not isinstance(v, str)]
    if whole is not None and len(parts) >= _STATUSES and sum(parts) != whole:
        yield f"{whole} trials are not the sum of {parts}"


def _number(group: Mapping[str, Claim], name: str) -> Span | None:
    claim = group.get(name)
    if claim is None:
        return None
    if name == "bytes" and not isinstance(claim.value, str):
        return exactly(float(claim.value))
    return span_of(claim.printed)


def _time(group: Mapping[str, Claim], name: str) -> Span | None:
    claim = group.get(name)
    span = span_of(claim.printed) if claim else None
    return span.scaled(_SECONDS.get(claim.unit, 1.0)) if claim and span else None
