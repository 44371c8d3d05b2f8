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
from kernellab.measurement.bootstrap import Interval, mean_interval
from kernellab.measurement.stats import median
from kernellab.suite.audit import audit_suite
from kernellab.suite.folder import SuiteFolder
from kernellab.suite.pairs import PairScore, pair_score
from kernellab.suite.rows import TaskScore

FAST = (1.0, 1.5, 2.0)
_EAGER = ("torch.eager", "torch")


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
    """`ended`: False where tasks are left. `groups`: by class of operators. `pairs`: forward and backward together, and
    `paired` of those that have figures; None in a suite without any. `drawn`: how, where the tasks are a sample."""

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
    pairs: tuple[PairScore, ...] = ()
    paired: Score | None = None
    drawn: str = ""

    def row(self, task: str) -> TaskScore | None:
        return next((r for r in self.rows if r.task == task), None)

    def data(self) -> dict[str, Any]:
        return {
            "status": "ok", "folder": str(self.folder), "suite": self.suite, "device": self.device,
            "ledger_root": self.root, "ended": self.ended, "left": self.left, "figures": self.figures,
            "score": asdict(self.whole), "by_operators": [asdict(g) for g in self.groups],
            "tasks": [asdict(r) for r in self.rows], "pairs": [asdict(p) for p in self.pairs],
            "paired": asdict(self.paired) if self.paired else None,
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
    return _scored(known, report.root.root, report.figures)


def recorded_score(folder: Path) -> SuiteScore:
    """The same from the records as they stand: no figure is derived again, so whoever shows it says so."""
    known = SuiteFolder(folder)
    return _scored(known, known.run.root, 0)


def _scored(known: SuiteFolder, root: str, figures: int) -> SuiteScore:
    checks = known.checks
    none = SuiteCheck(task="", is_a="")
    rows = [_row(known, task, checks.get(task.task, none)) for task in known.tasks.values()]
    ran = [r for r in rows if r.ran]
    names = sorted({r.operators for r in ran})
    left = len(known.plan.tasks) - len(rows)
    pairs = _pairs(known, {r.task: r for r in rows})
    return SuiteScore(
        known.folder, known.plan.suite, known.run.start.environment.device, root, known.ended, left,
        figures, tuple(rows), score("all", ran),
        tuple(score(name or "other", [r for r in ran if r.operators == name]) for name in names),
        pairs, score("forward+backward", [p for p in pairs if not p.reason]) if pairs else None,
        known.plan.drawn,
    )  # fmt: skip


def _pairs(known: SuiteFolder, rows: dict[str, TaskScore]) -> tuple[PairScore, ...]:
    """Of every backward task that has ended, and its forward one too."""
    asked = [(item.backward_of, item.name) for item in known.plan.tasks if item.backward_of]
    return tuple(pair_score(rows[one], rows[other]) for one, other in asked if one in rows and other in rows)


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
    eager = next((medians[name] for name in _EAGER if name in medians), None)
    times = {"baseline_s": fastest, "eager_s": eager, "floor_s": measured.memory_floor_s}
    if not isinstance(result, Published):
        return {"shape": shape, "baseline": measured.fastest, "of_ceiling": reached, **times}
    if result.status == "better":
        paired = result.latency_s * result.speedup
        times |= {"baseline_s": paired, "eager_s": eager * paired / fastest if eager is not None else None}
    return {
        **times, "shape": shape, "baseline": result.baseline, "speedup": result.speedup, "speedup_low": result.speedup_low,
        "speedup_high": result.speedup_high, "of_ceiling": max(result.of_memory_floor, reached),
        "over_eager": result.speedup_low * eager / fastest if eager is not None else None,
    }  # fmt: skip


def score(name: str, rows: Sequence[TaskScore | PairScore]) -> Score:
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
    logs = mean_interval(np.log(np.asarray(values, dtype=np.float64)).tolist(), seed)
    return Interval(math.exp(logs.value), math.exp(logs.low), math.exp(logs.high))
