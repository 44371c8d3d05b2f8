"""A page of results, from ledgers alone: every figure is a record's, every row names the entry it stands in.

The same ledgers give the same bytes, so anyone who has the run folders can derive the page again and compare.
Covered: runs that pass their audit. Not covered: whether the machine that measured was honest; `klab audit --rerun`.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernellab.core.errors import LedgerFault, UsageError
from kernellab.core.records import Confirmation, Passed, Timing
from kernellab.core.targets import fact_titles
from kernellab.ledger.records import Calibration, SanitizerReport
from kernellab.ledger.run import Run, TypedEntry, well_formed
from kernellab.ledger.shapes import PublishedKernel, RunShape, shapes_of
from kernellab.measurement.stats import median
from kernellab.report.audit import Audit, audit
from kernellab.report.markdown_table import markdown_table

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


@dataclass(frozen=True)
class _Audited:
    """A run that passed its audit, and what it holds about each shape."""

    run: Run
    report: Audit
    shapes: list[RunShape]

    @property
    def name(self) -> str:
        return self.run.folder.resolve().name


def results_page(folders: Sequence[Path], title: str = "Results", out: str = "RESULTS.md") -> Page:
    """Raises LedgerFault for a run that does not pass its audit."""
    if not folders:
        raise UsageError("no run is given", "name one or more run folders")
    runs: list[_Audited] = []
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
    lines = [f"# {title}", "", _INTRODUCTION, "", "## Overview", "", *markdown_table(_OVERVIEW, rows), *sections]
    lines += ["", "## Ledgers", "", *_ledgers(runs), "", "This page is derived again, byte for byte, by", "",
              f"    {command}", ""]  # fmt: skip
    return Page("\n".join(lines), sum(len(r.shapes) for r in runs), tuple(r.report.root for r in runs))


def _read(folder: Path) -> _Audited:
    report = audit(folder)
    if not report.ok:
        raise LedgerFault(f"{folder} does not pass its audit: {report.problems[0]}",
                          f"see 'klab audit {folder}'; a page is made of sound runs only")  # fmt: skip
    run = Run(folder)
    return _Audited(run, report, shapes_of(run))


def _section(run: _Audited) -> Iterator[str]:
    yield from ("", f"## Run {run.report.run}", "", *_environment(run))
    for shape in run.shapes:
        yield from ("", f"### {shape.task}, {shape.label}", "", *_shape(shape))


def _overview(run: _Audited) -> Iterator[list[str]]:
    """A row for each shape."""
    for shape in run.shapes:
        what = [f"`{shape.task}`", _dtype(shape), shape.label]
        found = shape.published
        if found is None:
            status = shape.result.record.status if shape.result else "no result recorded"
            where = f"{run.report.run} @{shape.result.seq}" if shape.result else run.report.run
            yield [*what, status, "", "", "", "", "", where]
            continue
        trial, timing, entry = found.trial, found.timing, found.confirmed.entry
        yield [*what, f"`{trial.proposal.name}`", _us(timing.latency_s), f"{timing.gb_per_s:.1f}",
               _pct(timing.of_memory_floor), _ratio(timing) + ("" if entry.record.win else " (no win)"),
               timing.baseline, f"{run.report.run} #{trial.trial} @{entry.seq}"]  # fmt: skip


def _environment(audited: _Audited) -> list[str]:
    asked = audited.run.genesis
    facts, settings = asked.environment, asked.settings
    packages = ", ".join(f"{name} {version}" for name, version in sorted(facts.packages.items()))
    plain = facts.facts
    rows = [["device", facts.device]]
    rows += [[name, str(plain[key])] for key, name in fact_titles().items() if key in plain]
    rows += [
        ["compilers", facts.compiler],
        ["packages", packages],
        ["Python, libc, kernel", f"{facts.python}, {facts.libc}, {facts.kernel}"],
        ["sandbox tier", facts.tier],
        ["threads", str(facts.threads)],
        ["effort, seed", f"{settings.effort}, {settings.seed}"],
        ["started", audited.run.first.time],
    ]
    rows += [["baseline not here", f"{name}: {why}"] for name, why in sorted(asked.missing_baselines.items())]
    return markdown_table(["environment", "", "record"], [[*row, "@0"] for row in rows])


def _shape(shape: RunShape) -> Iterator[str]:
    found = shape.published
    calibration = shape.calibration
    if shape.result is None:
        yield "No result is recorded for this shape."
    elif found is None:
        yield f"{shape.result.record.status}: {shape.result.record.reason} (@{shape.result.seq})"
    else:
        yield from _figures(found)
        calibration = found.confirmed.calibration or calibration
    if calibration is not None:
        yield from ("", *_baselines(calibration))
    yield from ("", *_counts(shape))
    yield from _looks(shape)


def _figures(found: PublishedKernel) -> list[str]:
    trial, timing, confirmation = found.trial, found.timing, found.confirmed.entry.record
    params = " ".join(f"{k}={v}" for k, v in trial.proposal.params.items())
    resources = ", ".join(f"{k} {v}" for k, v in sorted(trial.artifact.resources.items()))
    tried, where = f"#{trial.trial} @{found.tried}", f"#{trial.trial} @{found.confirmed.entry.seq}"
    rows = [
        ["kernel", f"`{trial.proposal.name}`" + (f", `{params}`" if params else ""), tried],
        ["source, artifact", f"`{trial.proposal.source[:16]}`, `{trial.artifact.id[:16]}`", tried],
        ["compiler", f"{trial.artifact.compiler}; {resources}", tried],
    ]
    if (calibration := found.confirmed.calibration) is not None:
        said, at = calibration.record, f"@{calibration.seq}"
        rows.append(["bytes moved, at least", f"{said.bytes:,} ({said.written:,} of them written)", at])
        rows.append(["copy ceiling", f"{said.ceilings.copy / 1e9:.1f} GB/s", at])
        rows.append(["noise (the baseline against itself)", f"{100 * said.noise_floor:.2f} %", at])
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
    return markdown_table(["confirmed", "", "record"], rows)


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


def _baselines(calibration: TypedEntry[Calibration]) -> list[str]:
    said, at = calibration.record, f"@{calibration.seq}"
    medians = sorted((median(pairs[0]), name) for name, pairs in said.baselines.items())
    rows = [[f"**{name}** (fastest)" if name == said.fastest else name, _us(seconds), at] for seconds, name in medians]
    rows += [[name, f"did not run: {why}", at] for name, why in sorted(said.failed.items())]
    return markdown_table(["baseline", "median latency in the calibration, us", "record"], rows)


def _counts(shape: RunShape) -> list[str]:
    counts = Counter(str(entry.record.status) for entry in shape.trials)
    seqs = [entry.seq for entry in shape.trials]
    where = f"@{min(seqs)} to @{max(seqs)}" if seqs else ""
    head = ["trials", *_STATUSES, "confirmations", "record"]
    row = [len(shape.trials), *(counts.get(name, 0) for name in _STATUSES), len(shape.confirmed)]
    return markdown_table(head, [[*map(str, row), where]])


def _looks(shape: RunShape) -> Iterator[str]:
    for profiled in shape.profiles:
        said = profiled.record
        rows = [[line, f"#{said.trial} @{profiled.seq}"] for line in said.lines]
        source = said.tool and f" ({said.source} {said.tool})"
        yield from ("", *markdown_table([f"profile{source}", "record"], rows))
    for sanitized in shape.sanitizer:
        yield from ("", *_sanitized(sanitized.record, f"@{sanitized.seq}"))


def _sanitized(said: SanitizerReport, at: str) -> list[str]:
    if said.reason:
        return [f"compute-sanitizer {said.reason} ({at})"]
    rows = [[f.tool, f.kernel, f.message, str(f.count), at] for f in said.findings]
    rows += [[tool, "", f"no verdict: {why}", "", at] for tool, why in sorted(said.unfinished.items())]
    named = {row[0] for row in rows}
    rows += [[tool, "", "nothing found", "0", at] for tool in said.tools if tool not in named]
    return markdown_table([f"sanitizer ({said.version})", "kernel", "finding", "errors", "record"], rows)


def _ledgers(runs: Sequence[_Audited]) -> list[str]:
    rows = [
        [r.name, r.report.run, f"`{r.report.root}`", r.report.fingerprint, str(r.report.figures),
         "yes" if r.report.ended else "no", f"@0 to @{r.report.entries - 1}"]
        for r in runs
    ]  # fmt: skip
    head = ["folder", "run", "root", "signed by key", "figures derived again", "ended", "record"]
    return markdown_table(head, rows)


def _dtype(shape: RunShape) -> str:
    return shape.result.record.dtype if shape.result else ""


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.2f}"


def _pct(share: float) -> str:
    return f"{share * 100:.1f} %"


def _ratio(timing: Timing) -> str:
    return f"{timing.speedup:.3f} [{timing.speedup_low:.3f}, {timing.speedup_high:.3f}]"


def _conditions(timing: Timing) -> str:
    told = [text.format(timing.conditions[key]) for key, text in _CONDITIONS.items() if key in timing.conditions]
    return ", ".join(told) or "not read on this device"
