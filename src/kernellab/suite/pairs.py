"""Forward and backward of one problem scored together, as training uses them: one after the other, at one shape.

The pair's time is the sum of both. Where a direction has no win, its strongest baseline is used, and its ratio is 1 exactly.
With b seconds for a direction's baseline and r for its ratio, the pair's ratio is (b1 + b2) / (b1/r1 + b2/r2). It grows with
either ratio, so that both lower ends together bound it from below: each is missed in at most 2.5 % of cases, one of
them in at most 5 %, however the two depend on each other. The upper end likewise. The seconds only weigh the two ratios
against each other; they are medians, and their own spread is not in the interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernellab.suite.rows import AT_CEILING, TaskScore


@dataclass(frozen=True)
class PairScore:
    """`baseline_s`, `kernel_s`: both directions together. Without figures where there is a `reason`."""

    task: str
    backward: str
    operators: str = ""
    reason: str = ""
    shape: str = ""
    baseline: str = ""
    baseline_s: float | None = None
    kernel_s: float | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    over_eager: float | None = None
    of_ceiling: float | None = None
    verified: bool = False
    won: bool = False

    @property
    def at_ceiling(self) -> bool:
        return self.of_ceiling is not None and self.of_ceiling >= AT_CEILING

    def faster_than(self, factor: float) -> bool:
        return self.won and self.speedup_low is not None and self.speedup_low > factor

    @property
    def counted(self) -> float:
        return self.speedup if self.won and self.speedup is not None else 1.0


def pair_score(forward: TaskScore, backward: TaskScore) -> PairScore:
    """`verified`: a kernel of each direction was. `won`: a direction has a confirmed win. A reason instead of figures where
    they are not of the same thing."""
    names: dict[str, Any] = {"task": forward.task, "backward": backward.task, "operators": forward.operators}
    if reason := _unscored(forward, backward):
        return PairScore(**names, reason=reason)
    sides = (forward, backward)
    times = [_positive(side.baseline_s) for side in sides]
    total = sum(times)

    def over(ratios: Sequence[float], whole: float = total) -> float:
        return whole / sum(b / r for b, r in zip(times, ratios, strict=True))

    lows = [_ratio(side, side.speedup_low) for side in sides]
    speedup = over([_ratio(side, side.speedup) for side in sides])
    eager = [side.eager_s for side in sides]
    floors = [side.floor_s for side in sides]
    return PairScore(
        **names, shape=forward.shape, baseline=" + ".join(dict.fromkeys(side.baseline for side in sides)),
        baseline_s=total, kernel_s=total / speedup, speedup=speedup, speedup_low=over(lows),
        speedup_high=over([_ratio(side, side.speedup_high) for side in sides]),
        over_eager=over(lows, sum(e for e in eager if e)) if all(eager) else None,
        of_ceiling=sum(f for f in floors if f) / min(total, total / speedup) if all(floors) else None,
        verified=all(side.verified for side in sides), won=any(side.won for side in sides),
    )  # fmt: skip


def _unscored(forward: TaskScore, backward: TaskScore) -> str:
    missing = [side for side in (forward, backward) if not side.ran or side.baseline_s is None]
    if missing:
        return "; ".join(f"{side.task} is {side.outcome if not side.ran else 'without a baseline'}" for side in missing)
    if forward.shape != backward.shape:
        return f"timed at different shapes: {forward.shape} and {backward.shape}"
    return ""


def _ratio(side: TaskScore, value: float | None) -> float:
    """Whoever has no faster kernel goes on with the baseline."""
    return value if side.won and value is not None else 1.0


def _positive(seconds: float | None) -> float:
    assert seconds is not None
    return seconds
