"""What a statistic comes to: a figure with its interval, or the reason why there is none here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernellab.measurement.stats import estimate

BEYOND = 1e30
"""What stands for an error that is not finite: larger than any bound, and still a number."""


@dataclass(frozen=True)
class Finding:
    """`n` values; `trials`: the records they come from; `says`: what else there is to know. `least`: with fewer values the
    interval is not of the level that was asked for."""

    value: float
    low: float
    high: float
    n: int
    trials: tuple[int, ...]
    says: str = ""
    least: int = 1


@dataclass(frozen=True)
class NotTestable:
    """`of_the_rest`: the same where only some of the trials gave a timing, if the reason would not be true then."""

    reason: str
    of_the_rest: str = ""

    def words(self, lost: str) -> str:
        """The reason, with what was lost first: it may be the cause."""
        return f"{lost}; {self.of_the_rest or self.reason}" if lost else self.reason


NO_CHOICE = NotTestable(
    "every combination came to the same machine code: there is nothing to choose between",
    "every combination that was timed came to the same machine code",
)


def of_median(values: Sequence[float], trials: Sequence[int], level: float, says: str = "") -> Finding:
    """The median with its exact-bootstrap interval, as everywhere in the laboratory."""
    found = estimate(values, level)
    return Finding(found.value, found.low, found.high, found.n, _once(trials), says, least_values(level))


def least_values(level: float) -> int:
    """How many values a median's interval needs: all of n lie on one side of it with probability 2^(1-n)."""
    return math.ceil(1 - math.log2(1 - level))


def of_share(hits: int, n: int, trials: Sequence[int], level: float, says: str = "") -> Finding:
    """A share with its exact binomial interval (Clopper and Pearson's)."""
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else _solve(lambda p: 1 - _below(hits, n, p), tail)
    high = 1.0 if hits == n else _solve(lambda p: 1 - _below(hits + 1, n, p), 1 - tail)
    return Finding(hits / n, low, high, n, _once(trials), says)


def _once(trials: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(set(trials)))


def _below(hits: int, n: int, p: float) -> float:
    """P(Binomial(n, p) < hits)."""
    if p in (0.0, 1.0):
        return float(hits > (n if p else 0))
    each = (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p)
            for k in range(hits))  # fmt: skip
    return math.fsum(math.exp(e) for e in each)


def _solve(rising: Callable[[float], float], target: float) -> float:
    """Where a rising function of a probability reaches the target, by halving."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < target else (low, middle)
    return (low + high) / 2
