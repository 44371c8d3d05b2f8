"""Two runs of a suite side by side, task by task. Ratios over different baselines or machines are different figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kernellab.measurement.bootstrap import Interval
from kernellab.suite.rows import TaskScore
from kernellab.suite.score import SuiteScore, geomean


@dataclass(frozen=True)
class Compared:
    """`change`: of the speed-ups, the second over the first, where both have one."""

    task: str
    first: TaskScore | None
    second: TaskScore | None
    says: str
    change: float | None = None


@dataclass(frozen=True)
class Comparison:
    first: SuiteScore
    second: SuiteScore
    rows: tuple[Compared, ...]
    change: Interval
    remarks: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        rows = [{"task": r.task, "says": r.says, "change": r.change} for r in self.rows]
        return {
            "status": "ok", "first": self.first.data(), "second": self.second.data(), "tasks": rows,
            "change": asdict(self.change), "remarks": list(self.remarks),
        }  # fmt: skip


def compare(first: SuiteScore, second: SuiteScore) -> Comparison:
    names = dict.fromkeys([*(r.task for r in first.rows), *(r.task for r in second.rows)])
    rows = tuple(_compared(name, first.row(name), second.row(name)) for name in names)
    both = [r for r in rows if r.first and r.second and r.first.ran and r.second.ran]
    change = geomean([r.second.counted / r.first.counted for r in both if r.first and r.second])
    remarks = []
    if first.device != second.device:
        remarks.append("these runs are of different devices: their figures are not of the same machine")
    if first.suite != second.suite:
        remarks.append(f"these are different suites: {first.suite} and {second.suite}")
    return Comparison(first, second, rows, change, tuple(remarks))


def _compared(name: str, first: TaskScore | None, second: TaskScore | None) -> Compared:
    if first is None or second is None:
        return Compared(name, first, second, f"only in the {'second' if first is None else 'first'}")
    if first.outcome != second.outcome and not (first.verified and second.verified):
        return Compared(name, first, second, f"{first.outcome}, then {second.outcome}")
    if first.speedup is None or second.speedup is None:
        return Compared(name, first, second, "the same")
    return Compared(name, first, second, _verdict(first, second), second.speedup / first.speedup)


def _verdict(first: TaskScore, second: TaskScore) -> str:
    if first.baseline != second.baseline:
        return f"over other baselines: {first.baseline} and {second.baseline}"
    assert first.speedup_low is not None
    assert first.speedup_high is not None
    assert second.speedup_low is not None
    assert second.speedup_high is not None
    if second.speedup_low > first.speedup_high:
        return "faster"
    return "slower" if second.speedup_high < first.speedup_low else "no difference that the intervals show"
