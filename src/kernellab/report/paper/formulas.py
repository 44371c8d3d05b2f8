"""How each number of a paper follows from entries of the ledger: one small pure function a formula, found by its name.

A formula gets the entries that a claim names and its arguments, and nothing else. So an auditor who has the ledger and a
claim derives the value again without the paper. `dimension` says what kind of quantity comes out; the forms that may
print it are checked against it.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kernellab.core.records import Timing
from kernellab.ledger import kinds
from kernellab.ledger.records import Calibration, Published
from kernellab.measurement.roofline import Ceilings, floor_of
from kernellab.measurement.stats import LEVEL, Estimate, median, replicated_speedup
from kernellab.measurement.winning import noise_floor, win_threshold
from kernellab.report.paper.ledger_prefix import LedgerPrefix, look

Value = float | int | str
Args = Mapping[str, Any]
Dimension = Literal["time", "rate", "arithmetic", "ratio", "share", "count", "bytes", "error", "money", "text", "any"]
_Run = Callable[[LedgerPrefix, Sequence[int], Args], Value]
_CHANGED_LINES = 60


@dataclass(frozen=True)
class Formula:
    name: str
    dimension: Dimension
    about: str
    run: _Run


FORMULAS: dict[str, Formula] = {}
CONSTANTS: dict[str, Value] = {
    "level": LEVEL, "float64": "float64", "hash": "SHA-256", "signature": "Ed25519", "diff_lines": _CHANGED_LINES,
}  # fmt: skip


def formula(name: str, dimension: Dimension, about: str) -> Callable[[_Run], _Run]:
    def enter(run: _Run) -> _Run:
        FORMULAS[name] = Formula(name, dimension, about, run)
        return run

    return enter


def derive(name: str, evidence: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    if name not in FORMULAS:
        raise ValueError(f"there is no formula '{name}'")
    return FORMULAS[name].run(evidence, seqs, args)


@formula("field", "any", "a recorded value as it stands")
def _field(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    value = look(ev.body(seqs[0]), args["path"])
    if isinstance(value, bool) or value is None or not isinstance(value, (int, float, str)):
        raise ValueError(f"entry {seqs[0]} has no number or word at {args['path']}")
    return value


@formula("packages", "text", "packages and versions of the recorded environment")
def _packages(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return ", ".join(f"{name} {version}" for name, version in sorted(look(ev.body(seqs[0]), args["path"]).items()))


@formula("constant", "any", "a constant of the laboratory")
def _constant(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return CONSTANTS[args["name"]]


@formula("time", "text", "when an entry was written (UTC)")
def _time(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return ev.when(seqs[0]).strftime("%Y-%m-%d %H:%M")


@formula("run", "text", "the run's name: a digest of its first entry")
def _run(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return ev.entries[seqs[0]].run


@formula("root", "text", "Merkle root over all entries")
def _root(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    if list(seqs) != list(range(ev.size)):
        raise ValueError(f"the root stands for entries 0 to {ev.size - 1}")
    return ev.root


@formula("entry", "count", "the number of an entry in the ledger")
def _entry(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return ev.entries[seqs[0]].seq


@formula("size", "count", "how many entries the ledger has")
def _size(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return ev.size


@formula("shape", "text", "extents of a shape")
def _shape(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    dims = look(ev.body(seqs[0]), args["path"])
    return ", ".join(f"{k}={v}" for k, v in sorted(dims.items()))


@formula("shapes", "count", "how many shapes the run was asked for or touched")
def _shapes(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return len(ev.shapes)


@formula("wins", "count", "shapes whose last result is a confirmed win")
def _wins(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    results = [s.result for s in ev.shapes if s.result is not None]
    return sum(isinstance(found, Published) and found.win for seq in results for found in [ev.at(kinds.RESULT, seq)])


@formula("latency", "time", "median of the candidate's paired samples, seconds a call")
def _latency(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return median(_timing(ev, seqs[0]).candidate_s)


@formula("baseline_latency", "time", "median of the baseline's samples in the same pairs, seconds a call")
def _baseline_latency(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return median(_timing(ev, seqs[0]).baseline_s)


@formula("calibrated_latency", "time", "median of a baseline's samples in the calibration, seconds a call")
def _calibrated(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return median(_calibration(ev, seqs[0]).baselines[args["name"]][0])


@formula("bandwidth", "rate", "least bytes of a call / latency, GB/s")
def _bandwidth(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    calibration, timed = seqs
    return float(_calibration(ev, calibration).bytes / median(_timing(ev, timed).candidate_s) / 1e9)


@formula("ratio", "ratio", "median of the paired ratios baseline / candidate")
def _ratio(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return _speedup(ev, seqs[0]).value


@formula("ratio_low", "ratio", "lower end of the ratio's exact-bootstrap interval")
def _ratio_low(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return _speedup(ev, seqs[0]).low


@formula("ratio_high", "ratio", "upper end of the ratio's exact-bootstrap interval")
def _ratio_high(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return _speedup(ev, seqs[0]).high


@formula("extreme", "any", "smallest or largest of a formula over several entries")
def _extreme(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    values = [derive(args["of"], ev, [seq], {}) for seq in seqs]
    numbers = [v for v in values if not isinstance(v, str)]
    return min(numbers) if args["which"] == "min" else max(numbers)


@formula("floor", "time", "least seconds of a call under the measured ceilings")
def _floor(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return _floors(ev, seqs[0])[0]


@formula("of_floor", "share", "floor / latency")
def _of_floor(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return _floors(ev, seqs[0])[0] / median(_timing(ev, seqs[1]).candidate_s)


@formula("copy_ceiling", "rate", "measured copy rate of the device, GB/s")
def _copy_ceiling(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return float(_calibration(ev, seqs[0]).ceilings.copy / 1e9)


@formula("flops_ceiling", "arithmetic", "measured arithmetic rate of the device, Gflop/s")
def _flops_ceiling(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return float(_calibration(ev, seqs[0]).ceilings.flops / 1e9)


@formula("listed", "text", "the values of a recorded list")
def _listed(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return ", ".join(map(str, look(ev.body(seqs[0]), args["path"])))


@formula("noise", "share", "the baseline measured against itself: how far the median ratio is from one")
def _noise(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return noise_floor(*_calibration(ev, seqs[0]).aa)


@formula("threshold", "ratio", "what the lower end of a ratio must exceed for a win")
def _threshold(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return win_threshold(ev.genesis.settings.win_floor, noise_floor(*_calibration(ev, seqs[1]).aa))


@formula("pairs", "count", "pairs of samples behind a figure")
def _pairs(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return len(_timing(ev, seqs[0]).candidate_s)


@formula("dropped", "count", "pairs set aside because a process was preempted")
def _dropped(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return sum(len(_timing(ev, seq).dropped) for seq in seqs)


@formula("count", "count", "entries of a kind whose fields have given values")
def _count(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return len(_all_of(ev, seqs, args))


@formula("distinct", "count", "different values of a field among entries")
def _distinct(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return len({str(look(ev.body(s), args["path"])) for s in _all_of(ev, seqs, args)} - {"None"})


@formula("total", "any", "sum of a field over entries")
def _total(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    values = [look(ev.body(s), args["path"]) for s in _all_of(ev, seqs, args)]
    return _sum([v for v in values if v is not None])


@formula("elapsed", "time", "from the first of these entries to the last, by the wall clock")
def _elapsed(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return (ev.when(seqs[-1]) - ev.when(seqs[0])).total_seconds()


@formula("clocked", "time", "seconds inside the clock: calls x samples, candidates and baselines, dropped pairs too")
def _clocked(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    found = []
    for seq in seqs:
        timing = _timing(ev, seq)
        dropped = [t for pair in timing.dropped for t in pair]
        found.append(timing.calls * math.fsum((*timing.candidate_s, *timing.baseline_s, *dropped)))
    return math.fsum(found)


@formula("params", "text", "parameters of a proposal")
def _params(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    params = ev.trial_at(seqs[0]).proposal.params
    return ", ".join(f"{k}={v}" for k, v in sorted(params.items())) or "none"


@formula("changed_params", "text", "parameters in which a proposal differs from an earlier one")
def _changed(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    old, new = (ev.trial_at(s).proposal.params for s in seqs)
    names = sorted({*old, *new})
    told = [f"{n}: {old.get(n, 'none')} to {new.get(n, 'none')}" for n in names if old.get(n) != new.get(n)]
    return ", ".join(told) or "none"


@formula("diff", "text", "unified diff of the stored sources of two proposals")
def _diff(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    old, new = (_source(ev, s) for s in seqs)
    lines = list(difflib.unified_diff(old, new, "before", "after", n=2, lineterm=""))
    return _cut(lines, int(args["most"]))


@formula("source", "text", "stored source of a proposal")
def _listing(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return _cut(_source(ev, seqs[0]), int(args["most"]))


@formula("key", "text", "a name under which a record keeps something")
def _key(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    if args["name"] not in look(ev.body(seqs[0]), args["path"]):
        raise ValueError(f"entry {seqs[0]} has no {args['name']}")
    return str(args["name"])


@formula("failed_baseline", "text", "a baseline that did not run, and why")
def _failed_baseline(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return f"{args['name']}: {_calibration(ev, seqs[0]).failed[args['name']]}"


@formula("missing_baseline", "text", "a baseline that this machine does not have, and why")
def _missing_baseline(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return f"{args['name']}: {ev.genesis.missing_baselines[args['name']]}"


@formula("failed", "count", "trials at a shape that were invalid or did not build")
def _failed(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    shape = next(s for s in ev.shapes if s.task == args["task"] and s.dims == args["dims"])
    found = [s for s in shape.trials if ev.trial_at(s).status in ("invalid", "build-failed")]
    if found != list(seqs):
        raise ValueError(f"{len(found)} entries fit, {len(seqs)} are named")
    return len(found)


@formula("baseline_list", "text", "baselines that ran in a calibration")
def _baseline_list(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> Value:
    return ", ".join(sorted(_calibration(ev, seqs[0]).baselines))


def _sum(values: Sequence[float]) -> float:
    """Rounded once, so that every version of Python gives the same digits; whole numbers stay whole."""
    return sum(values) if all(isinstance(v, int) for v in values) else math.fsum(values)


def _timing(ev: LedgerPrefix, seq: int) -> Timing:
    return ev.timings[seq]


def _calibration(ev: LedgerPrefix, seq: int) -> Calibration:
    return ev.at(kinds.CALIBRATION, seq)


def _speedup(ev: LedgerPrefix, seq: int) -> Estimate:
    timing = _timing(ev, seq)
    return replicated_speedup(timing.candidate_s, timing.baseline_s, timing.processes)


def _floors(ev: LedgerPrefix, seq: int) -> tuple[float, float, str]:
    said = _calibration(ev, seq)
    return floor_of(said.bytes, said.written, said.flops, Ceilings.recorded(said.ceilings))


def _all_of(ev: LedgerPrefix, seqs: Sequence[int], args: Args) -> list[int]:
    """The entries that fit, which must be the ones named: a count that leaves some out would be no count."""
    found = ev.matching(args["kind"], args.get("where", {}))
    if sorted(seqs) != found:
        raise ValueError(f"{len(found)} entries fit, {len(seqs)} are named")
    return found


def _source(ev: LedgerPrefix, seq: int) -> list[str]:
    return ev.source(ev.trial_at(seq)).splitlines()


def _cut(lines: Sequence[str], most: int) -> str:
    kept = [line.replace("\t", "    ").rstrip() for line in lines[:most]]
    if len(lines) > most:
        kept.append(f"({len(lines) - most} more lines)")
    return "\n".join(kept)
