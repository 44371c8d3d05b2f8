"""What came of one task of a suite, as a row of its report."""

from __future__ import annotations

from dataclasses import dataclass

from kernellab.ledger.suite_records import RAN

AT_CEILING = 0.95


@dataclass(frozen=True)
class TaskScore:
    """`speedup` and its interval are over the strongest baseline; None where nothing was verified and timed. `over_eager`:
    its lower end times what the strongest baseline is faster than eager torch, by the medians of the calibration.
    `of_ceiling`: the share of the memory floor that the better of kernel and strongest baseline reaches. Seconds of a call:
    of the strongest baseline (in the pairs of the confirmation, where there is one), of eager torch, of the memory floor.
    """

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
    baseline_s: float | None = None
    eager_s: float | None = None
    floor_s: float | None = None

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
