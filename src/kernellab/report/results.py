"""A page of results, from ledgers alone: every figure is a record's, every row names the entry it stands in.

The same ledgers give the same bytes, so anyone who has the run folders can derive the page again and compare.
Covered: runs that pass their audit. Not covered: whether the machine that measured was honest; `klab audit --rerun`.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.records import TRIAL, Confirmation, MeasuredTrial, Passed, Timing
from kernellab.core.targets import fact_titles
from kernellab.ledger.journal import Entry, read_entries
from kernellab.measure.stats import median
from kernellab.report.audit import Audit, audit
from kernellab.search.archive import AnyTrial, well_formed

_STATUSES = ("measured", "rejected", "invalid", "build-failed", "duplicate")
_CONDITIONS = {"sm_mhz": "SM {} MHz", "memory_mhz": "memory {} MHz", "celsius": "{} °C", "watts": "{} W",
               "held_back_by": "held back by {}"}  # fmt: skip
_OVERVIEW = (
    "task",
    "dtype",
    "shape",
    "kernel",
    "latency, us",
    "GB/s",
    "of copy ceiling",
    "ratio [95 %]",
    "over",
    "record",
)
_INTRODUCTION = """\
Every figure on this page is read from the signed ledgers named at its end, each of which passed its audit (chain,
signatures, stored evidence, every derived figure computed again from the raw samples). Latencies are medians of paired
samples of a confirmation: a fresh process, fresh inputs, every case judged, timed calls checked. Ratios are medians of
the paired ratios with a 95 % bootstrap interval, over the fastest baseline of that shape. "of copy ceiling" is the least
time that the device's measured copy rate allows for the bytes moved, as a share of the latency. `#12` is a trial, `@34`
an entry of the ledger: `klab show RUN --trial 12`, line 35 of `ledger.jsonl`."""


@dataclass(frozen=True)
class Page:
    text: str
    shapes: int
    roots: tuple[str, ...]


@dataclass
class _Shape:
    """What a run holds about one shape: bodies, and the numbers of their entries."""

    task: str
    dims: dict[str, int]
    calibration: tuple[int, dict[str, Any]] | None = None
    trials: list[tuple[int, AnyTrial]] = field(default_factory=list)
    confirmations: dict[int, tuple[int, Confirmation, tuple[int, dict[str, Any]] | None]] = field(default_factory=dict)
    result: tuple[int, dict[str, Any]] | None = None
    profiles: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    sanitizer: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    @property
    def label(self) -> str:
        return ", ".join(f"{k}={v}" for k, v in self.dims.items())


@dataclass
class _Run:
    name: str
    report: Audit
    started: str = ""
    genesis: dict[str, Any] = field(default_factory=dict)
    shapes: dict[str, _Shape] = field(default_factory=dict)

    def at(self, task: str, dims: Mapping[str, int]) -> _Shape:
        ordered = dict(sorted(dims.items()))
        return self.shapes.setdefault(f"{task} {ordered}", _Shape(task, ordered))


def results_page(folders: Sequence[Path], title: str = "Results", out: str = "RESULTS.md") -> Page:
    """Raises LedgerFault for a run that does not pass its audit."""
    if not folders:
        raise UsageError("no run is given", "name one or more run folders")
    runs: list[_Run] = []
    rows: list[list[str]] = []
    sections: list[str] = []
    for folder in folders:
        with well_formed(folder):
            run = _read(folder)
            runs.append(run)
            rows += _overview(run)
            sections += _section(run)
    names = " ".join(shlex.quote(run.name) for run in runs)
    command = f"klab results {names} --out {shlex.quote(Path(out).name)} --title {shlex.quote(title)}"
    lines = [f"# {title}", "", _INTRODUCTION, "", "## Overview", "", *_table(_OVERVIEW, rows), *sections]
    lines += ["", "## Ledgers", "", *_ledgers(runs), "", "This page is derived again, byte for byte, by", "",
              f"    {command}", ""]  # fmt: skip
    return Page("\n".join(lines), sum(len(r.shapes) for r in runs), tuple(r.report.root for r in runs))


def _read(folder: Path) -> _Run:
    report = audit(folder)
    if not report.ok:
        raise LedgerFault(f"{folder} does not pass its audit: {report.problems[0]}",
                          f"see 'klab audit {folder}'; a page is made of sound runs only")  # fmt: skip
    run = _Run(folder.resolve().name, report)
    for entry in read_entries(folder):
        _file(run, entry)
    return run


def _file(run: _Run, entry: Entry) -> None:
    """Put an entry where it belongs; kinds that carry no figure are passed over."""
    body, seq = dict(entry.body), entry.seq
    if entry.kind == "run":
        run.genesis, run.started = body, entry.time
        for dims in body["shapes"]:
            run.at(body["task"]["name"], dims)
        return
    if entry.kind not in ("calibration", "trial", "confirmation", "result", "profile", "sanitizer"):
        return
    shape = run.at(body["task"], body["dims"])
    if entry.kind == "calibration":
        shape.calibration = (seq, body)
    elif entry.kind == "trial":
        shape.trials.append((seq, TRIAL.validate_python(body)))
    elif entry.kind == "confirmation":
        confirmation = Confirmation.model_validate(body)
        shape.confirmations[confirmation.trial] = (seq, confirmation, shape.calibration)
    elif entry.kind == "result":
        shape.result = (seq, body)
    else:
        (shape.profiles if entry.kind == "profile" else shape.sanitizer).append((seq, body))


def _section(run: _Run) -> Iterator[str]:
    yield from ("", f"## Run {run.report.run}", "", *_environment(run))
    for shape in run.shapes.values():
        yield from ("", f"### {shape.task}, {shape.label}", "", *_shape(shape))


def _overview(run: _Run) -> Iterator[list[str]]:
    """A row for each shape."""
    for shape in run.shapes.values():
        what = [f"`{shape.task}`", _dtype(shape), shape.label]
        found = _published(shape)
        if found is None:
            status = shape.result[1]["status"] if shape.result else "no result recorded"
            where = f"{run.report.run} @{shape.result[0]}" if shape.result else run.report.run
            yield [*what, status, "", "", "", "", "", where]
            continue
        seq, confirmation, trial, timing = found
        yield [*what, f"`{trial.proposal.name}`", _us(timing.latency_s), f"{timing.gb_per_s:.1f}",
               _pct(timing.of_memory_floor), _ratio(timing) + ("" if confirmation.win else " (no win)"),
               timing.baseline, f"{run.report.run} #{trial.trial} @{seq}"]  # fmt: skip


def _environment(run: _Run) -> list[str]:
    facts, settings = run.genesis["environment"], run.genesis["settings"]
    packages = ", ".join(f"{name} {version}" for name, version in sorted(facts["packages"].items()))
    rows = [["device", str(facts["device"])]]
    rows += [[name, str(facts[key])] for key, name in fact_titles().items() if key in facts]
    rows += [
        ["compilers", facts["compiler"]],
        ["packages", packages],
        ["Python, libc, kernel", f"{facts['python']}, {facts['libc']}, {facts['kernel']}"],
        ["sandbox tier", facts["tier"]],
        ["threads", str(facts["threads"])],
        ["effort, seed", f"{settings['effort']}, {settings['seed']}"],
        ["started", run.started],
    ]
    missing = run.genesis.get("missing_baselines", {})
    rows += [["baseline not here", f"{name}: {why}"] for name, why in sorted(missing.items())]
    return _table(["environment", "", "record"], [[*row, "@0"] for row in rows])


def _shape(shape: _Shape) -> Iterator[str]:
    found = _published(shape)
    if shape.result is None:
        yield "No result is recorded for this shape."
    elif found is None:
        yield f"{shape.result[1]['status']}: {shape.result[1]['reason']} (@{shape.result[0]})"
    else:
        yield from _figures(shape, found)
    calibration = shape.calibration if found is None else (shape.confirmations[found[2].trial][2] or shape.calibration)
    if calibration is not None:
        yield from ("", *_baselines(*calibration))
    yield from ("", *_counts(shape))
    yield from _looks(shape)


_Published = tuple[int, Confirmation, MeasuredTrial, Timing]


def _published(shape: _Shape) -> _Published | None:
    """The confirmation that the shape's result names."""
    number = shape.result[1].get("trial") if shape.result else None
    if number is None or number not in shape.confirmations:
        return None
    seq, confirmation, _ = shape.confirmations[number]
    trial = next((t for _, t in shape.trials if t.trial == number), None)
    if not isinstance(trial, MeasuredTrial) or confirmation.timing is None:
        return None
    return seq, confirmation, trial, confirmation.timing


def _figures(shape: _Shape, found: _Published) -> list[str]:
    seq, confirmation, trial, timing = found
    calibration = shape.confirmations[trial.trial][2]
    params = " ".join(f"{k}={v}" for k, v in trial.proposal.params.items())
    resources = ", ".join(f"{k} {v}" for k, v in sorted(trial.artifact.resources.items()))
    tried = next(s for s, t in shape.trials if t.trial == trial.trial)
    where = f"#{trial.trial} @{seq}"
    rows = [
        ["kernel", f"`{trial.proposal.name}`" + (f", `{params}`" if params else ""), f"#{trial.trial} @{tried}"],
        ["source, artifact", f"`{trial.proposal.source[:16]}`, `{trial.artifact.id[:16]}`", f"#{trial.trial} @{tried}"],
        ["compiler", f"{trial.artifact.compiler}; {resources}", f"#{trial.trial} @{tried}"],
    ]
    if calibration is not None:
        body = calibration[1]
        rows.append(["bytes moved, at least", f"{body['bytes']:,} ({body['written']:,} of them written)",
                     f"@{calibration[0]}"])  # fmt: skip
        rows.append(["copy ceiling", f"{body['ceilings']['copy'] / 1e9:.1f} GB/s", f"@{calibration[0]}"])
        rows.append(["noise (the baseline against itself)", f"{100 * body['noise_floor']:.2f} %", f"@{calibration[0]}"])
    rows += [
        ["latency", f"{_us(timing.latency_s)} us", where],
        [f"latency of {timing.baseline} in the same pairs", f"{_us(median(timing.baseline_s))} us", where],
        ["bandwidth", f"{timing.gb_per_s:.1f} GB/s", where],
        ["share of the memory floor (copy ceiling)", _pct(timing.of_memory_floor), where],
        ["share of the floor (memory and arithmetic)", _pct(timing.of_floor), where],
        [f"ratio over {timing.baseline}", _ratio(timing) + (": a win" if confirmation.win else ": no win"), where],
        *_accuracy(confirmation, where),
        ["pairs", f"{len(timing.candidate_s)}, {len(timing.dropped)} dropped, {timing.calls} calls a sample", where],
        ["timed calls checked in full", str(timing.checked), where],
        ["clocks and temperature", _conditions(timing), where],
    ]
    return _table(["confirmed", "", "record"], rows)


def _accuracy(confirmation: Confirmation, where: str) -> list[list[str]]:
    verdict = confirmation.verdict
    if not isinstance(verdict, Passed):
        return []
    bits = (
        "every bit the same in a second pass" if verdict.deterministic else "bits differ between passes, within budget"
    )
    return [
        ["largest error (l_inf)", f"{verdict.max_abs_err:.3g}", where],
        ["largest error in ULP", f"{verdict.max_ulp:.3f} of a budget of {verdict.budget_ulp:.3f}", where],
        ["cases judged", f"{verdict.cases}, {bits}", where],
    ]


def _baselines(seq: int, body: dict[str, Any]) -> list[str]:
    medians = sorted((median(pairs[0]), name) for name, pairs in body["baselines"].items())
    rows = [[f"**{name}** (fastest)" if name == body["fastest"] else name, _us(seconds), f"@{seq}"]
            for seconds, name in medians]  # fmt: skip
    rows += [[name, f"did not run: {why}", f"@{seq}"] for name, why in sorted(body["failed"].items())]
    return _table(["baseline", "median latency in the calibration, us", "record"], rows)


def _counts(shape: _Shape) -> list[str]:
    counts = Counter(str(trial.status) for _, trial in shape.trials)
    seqs = [seq for seq, _ in shape.trials]
    where = f"@{min(seqs)} to @{max(seqs)}" if seqs else ""
    head = ["trials", *_STATUSES, "confirmations", "record"]
    row = [len(shape.trials), *(counts.get(name, 0) for name in _STATUSES), len(shape.confirmations)]
    return _table(head, [[*map(str, row), where]])


def _looks(shape: _Shape) -> Iterator[str]:
    for seq, body in shape.profiles:
        rows = [[line, f"#{body['trial']} @{seq}"] for line in body["lines"]]
        source = body["tool"] and f" ({body['source']} {body['tool']})"
        yield from ("", *_table([f"profile{source}", "record"], rows))
    for seq, body in shape.sanitizer:
        if body["reason"]:
            yield from ("", f"compute-sanitizer {body['reason']} (@{seq})")
            continue
        rows = [[f["tool"], f["kernel"], f["message"], str(f["count"]), f"@{seq}"] for f in body["findings"]]
        rows += [[tool, "", f"no verdict: {why}", "", f"@{seq}"] for tool, why in sorted(body["unfinished"].items())]
        named = {row[0] for row in rows}
        rows += [[tool, "", "nothing found", "0", f"@{seq}"] for tool in body["tools"] if tool not in named]
        yield from ("", *_table([f"sanitizer ({body['version']})", "kernel", "finding", "errors", "record"], rows))


def _ledgers(runs: Sequence[_Run]) -> list[str]:
    rows = [
        [r.name, r.report.run, f"`{r.report.root}`", r.report.fingerprint, str(r.report.figures),
         "yes" if r.report.ended else "no", f"@0 to @{r.report.entries - 1}"]
        for r in runs
    ]  # fmt: skip
    head = ["folder", "run", "root", "signed by key", "figures derived again", "ended", "record"]
    return _table(head, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(" ".join(str(c).replace("|", "\\|").split()) for c in cells) + " |"

    return [line(head), "|" + " --- |" * len(head), *(line(row) for row in rows)]


def _dtype(shape: _Shape) -> str:
    return str(shape.result[1].get("dtype", "")) if shape.result else ""


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.2f}"


def _pct(share: float) -> str:
    return f"{share * 100:.1f} %"


def _ratio(timing: Timing) -> str:
    return f"{timing.speedup:.3f} [{timing.speedup_low:.3f}, {timing.speedup_high:.3f}]"


def _conditions(timing: Timing) -> str:
    told = [text.format(timing.conditions[key]) for key, text in _CONDITIONS.items() if key in timing.conditions]
    return ", ".join(told) or "not read on this device"
