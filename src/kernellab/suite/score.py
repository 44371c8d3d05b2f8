"""What a suite's runs came to, task by task and all together. Every figure is a record's of a run that passed its audit.

A task counts by its worst timed shape. A task without a win counts as 1.0 in the geometric mean: whoever has no faster
kernel goes on with the baseline. Only tasks that ran are counted; those that were refused or left out are named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernellab.core.errors import LedgerFault
from kernellab.ledger.records import AnyResult, Calibration, Published
from kernellab.ledger.run import Run, place_of
from kernellab.ledger.suite_records import RAN, SuiteCheck, SuiteTask
from kernellab.measurement.stats import median
from kernellab.suite.audit import SuiteAudit, audit_suite
from kernellab.suite.folder import SuiteFolder

AT_CEILING = 0.95
FAST = (1.0, 1.5, 2.0)
_EAGER = ("torch.eager", "torch")
_RESAMPLES = 10_000


@dataclass(frozen=True)
class TaskScore:
    """`speedup` and its interval are over the strongest baseline; None where nothing was verified and timed. `over_eager`:
    its lower end times what the strongest baseline is faster than eager torch, by the medians of the calibration.
    `of_ceiling`: the share of the memory floor that the better of kernel and strongest baseline reaches."""

    task: str
    operators: str
    is_a: str
    outcome: str
    reason: str
    reduced: bool = False
    shape: str = ""
    baseline: str = ""
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    over_eager: float | None = None
    of_ceiling: float | None = None
    run: str = ""
    seconds: float = 0.0

    @property
    def ran(self) -> bool:
        return self.outcome in RAN

    @property
    def verified(self) -> bool:
        return self.speedup is not None

    @property
    def won(self) -> bool:
        return self.outcome == "better"

    @property
    def at_ceiling(self) -> bool:
        return self.of_ceiling is not None and self.of_ceiling >= AT_CEILING

    def faster_than(self, factor: float) -> bool:
        return self.won and self.speedup_low is not None and self.speedup_low > factor

    @property
    def counted(self) -> float:
        """In the geometric mean."""
        return self.speedup if self.won and self.speedup is not None else 1.0


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Score:
    """Of a group of tasks that ran."""

    name: str
    tasks: int
    verified: int
    over_eager: int
    fast: dict[str, int]
    at_ceiling: int
    geomean: Interval


@dataclass(frozen=True)
class SuiteScore:
    """`ended`: False where tasks are left. `groups`: by class of operators."""

    folder: Path
    suite: str
    device: str
    root: str
    ended: bool
    left: int
    figures: int
    rows: tuple[TaskScore, ...]
    whole: Score
    groups: tuple[Score, ...]

    def row(self, task: str) -> TaskScore | None:
        return next((r for r in self.rows if r.task == task), None)

    def data(self) -> dict[str, Any]:
        return {
            "status": "ok", "folder": str(self.folder), "suite": self.suite, "device": self.device,
            "ledger_root": self.root, "ended": self.ended, "left": self.left, "figures": self.figures,
            "score": asdict(self.whole), "by_operators": [asdict(g) for g in self.groups],
            "tasks": [asdict(r) for r in self.rows],
        }  # fmt: skip


def score_suite(folder: Path) -> SuiteScore:
    """LedgerFault for a suite that does not pass its audit."""
    known = SuiteFolder(folder)
    report = audit_suite(folder)
    if not report.ok:
        raise LedgerFault(
            f"{folder} does not pass its audit: {report.problems[0]}",
            f"see 'klab audit {folder}'; a report is made of sound suites only",
        )
    return _scored(known, report)


def _scored(known: SuiteFolder, report: SuiteAudit) -> SuiteScore:
    checks = known.checks
    none = SuiteCheck(task="", is_a="")
    rows = [_row(known, task, checks.get(task.task, none)) for task in known.tasks.values()]
    ran = [r for r in rows if r.ran]
    names = sorted({r.operators for r in ran})
    left = len(known.plan.tasks) - len(rows)
    return SuiteScore(
        known.folder, known.plan.suite, known.run.start.environment.device, report.root.root, known.ended, left,
        report.figures, tuple(rows), score("all", ran),
        tuple(score(name or "other", [r for r in ran if r.operators == name]) for name in names),
    )  # fmt: skip


def _row(known: SuiteFolder, task: SuiteTask, check: SuiteCheck) -> TaskScore:
    facts: dict[str, Any] = {
        "task": task.task, "operators": check.operators, "is_a": check.is_a, "outcome": task.outcome,
        "reason": task.reason, "reduced": check.reduced, "run": task.run, "seconds": task.seconds,
    }  # fmt: skip
    if task.outcome not in RAN:
        return TaskScore(**facts)
    run = Run(known.run_folder(task.task))
    calibrations = {place_of(c.task, c.dims): c for c in run.calibrations}
    worst = min(run.results, key=lambda r: r.speedup_low if isinstance(r, Published) else 0.0, default=None)
    return TaskScore(**facts, **(_figures(worst, calibrations) if worst is not None else {}))


def _figures(result: AnyResult, calibrations: dict[str, Calibration]) -> dict[str, Any]:
    measured = calibrations.get(place_of(result.task, result.dims))
    shape = "x".join(map(str, result.dims.values()))
    if measured is None:
        return {"shape": shape}
    medians = {name: median(pairs[0]) for name, pairs in measured.baselines.items()}
    fastest = medians[measured.fastest]
    reached = measured.memory_floor_s / fastest
    if not isinstance(result, Published):
        return {"shape": shape, "baseline": measured.fastest, "of_ceiling": reached}
    eager = next((medians[name] for name in _EAGER if name in medians), None)
    return {
        "shape": shape, "baseline": result.baseline, "speedup": result.speedup, "speedup_low": result.speedup_low,
        "speedup_high": result.speedup_high, "of_ceiling": max(result.of_memory_floor, reached),
        "over_eager": result.speedup_low * eager / fastest if eager is not None else None,
    }  # fmt: skip


def score(name: str, rows: Sequence[TaskScore]) -> Score:
    return Score(
        name=name,
        tasks=len(rows),
        verified=sum(r.verified for r in rows),
        over_eager=sum(r.over_eager is not None and r.over_eager > 1 for r in rows),
        fast={f"fast_{factor:g}": sum(r.faster_than(factor) for r in rows) for factor in FAST},
        at_ceiling=sum(r.at_ceiling for r in rows),
        geomean=geomean([r.counted for r in rows]),
    )


def geomean(values: Sequence[float], seed: int = 0) -> Interval:
    """With a 95 % percentile bootstrap over the values, from a seed: the same values give the same digits."""
    if not values:
        return Interval(1.0, 1.0, 1.0)
    logs = np.log(np.asarray(values, dtype=np.float64))
    drawn = np.random.default_rng(seed).integers(0, len(logs), (_RESAMPLES, len(logs)))
    low, high = np.quantile(logs[drawn].mean(axis=1), (0.025, 0.975))
    return Interval(math.exp(float(logs.mean())), math.exp(float(low)), math.exp(float(high)))
